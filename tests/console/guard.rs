//! Who may read and change: without the token, from other sites, and under other names nobody may.

use actix_web::test::TestRequest;
use leasehold::{Acquire, LeaseStatus};
use serde_json::json;

use super::site::{HOST, Site, TOKEN};
use support::virtual_time::in_virtual_time;

const FORCE: [(&str, &str); 2] = [("resource", "orders/1"), ("confirm", "orders/1")];

#[test]
fn without_the_token_nothing_is_changed() {
    in_virtual_time(|| async {
        let site = Site::new();
        let lease = site.hold(Acquire::new("orders/1")).await;
        assert_eq!(site.post("force-release", &FORCE).await.status, 401);
        for wrong in ["x", "correct-horse-battery-stapler", "Bearer"] {
            let body = json!({ "resource": "orders/1", "confirm": "orders/1" });
            let answer = site.call(wrong, "force-release", &body).await;
            assert_eq!((answer.status, &answer.json()["kind"]), (401, &"unauthenticated".into()), "{wrong}");
            assert_eq!(answer.header("www-authenticate"), "Bearer");
        }
        let login = site.post("login", &[("token", "correct-horse-battery-stapler")]).await;
        assert_eq!((login.status, login.header("set-cookie")), (401, ""));
        assert!(!site.get("resource?name=orders/1").await.text.contains("action=\"revoke\""));
        assert_eq!(lease.status(), LeaseStatus::Held);
        let refused = site.audit.lines();
        assert_eq!(refused.iter().filter(|line| line.contains("refused")).count(), 5, "{refused:#?}");
        assert!(!site.audit.text().contains("stapler"));
    });
}

#[test]
fn a_console_without_a_token_is_read_only() {
    in_virtual_time(|| async {
        let site = Site::with(|console| console);
        let lease = site.hold(Acquire::new("orders/1")).await;
        let answer = site.post("force-release", &FORCE).await;
        assert_eq!((answer.status, &answer.json()["kind"]), (403, &"read_only".into()));
        let body = json!({ "resource": "orders/1", "confirm": "orders/1" });
        assert_eq!(site.call("x", "force-release", &body).await.status, 403);
        assert_eq!(site.post("login", &[("token", "")]).await.status, 401);
        assert!(site.get("").await.text.contains("Read only"));
        assert_eq!(lease.status(), LeaseStatus::Held);
    });
}

#[test]
fn another_site_changes_nothing_also_with_the_session_of_the_browser() {
    in_virtual_time(|| async {
        let site = Site::new();
        let lease = site.hold(Acquire::new("orders/1")).await;
        site.sign_in().await;
        let own = format!("http://{HOST}");
        for headers in [
            &[("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")][..],
            &[("origin", "http://127.0.0.1:9999"), ("sec-fetch-site", "same-site")],
            &[("origin", "null")],
            &[("origin", &own), ("sec-fetch-site", "cross-site")],
            &[],
        ] {
            for path in ["force-release", "api/force-release", "doctor", "logout", "login"] {
                let answer = site.post_from(headers, path, &FORCE).await;
                assert_eq!(
                    (answer.status, &answer.json()["kind"]),
                    (403, &"cross_site".into()),
                    "{headers:?}"
                );
            }
        }
        assert_eq!(lease.status(), LeaseStatus::Held);
        assert!(site.audit.lines().iter().any(|line| line.contains("cross_site")));
        assert!(site.get("").await.text.contains("Signed in"));
    });
}

#[test]
fn another_name_for_this_machine_is_refused_unless_it_is_known() {
    in_virtual_time(|| async {
        let site = Site::with(|console| console.token(TOKEN).host("Locks.Example.org"));
        for (host, status) in [
            ("evil.example:8640", 421),
            ("evil.example", 421),
            ("locks.example.org:8640", 200),
            ("localhost:8640", 200),
            ("[::1]:8640", 200),
        ] {
            for path in ["/locks/", "/locks/api/resources", "/locks/console.js"] {
                let answer = site.send(TestRequest::get().uri(path).insert_header(("host", host))).await;
                assert_eq!(answer.status, status, "{host} {path}");
            }
        }
    });
}

#[test]
fn where_reading_needs_the_token_nothing_is_told_without_it() {
    in_virtual_time(|| async {
        let site = Site::with(|console| console.token(TOKEN).reading_needs_token());
        let _lease = site.hold(Acquire::new("orders/1")).await;
        for page in ["", "?all=true", "resource?name=orders/1", "managers", "doctor"] {
            assert_eq!(site.get(page).await.leads_to(), "login");
        }
        // Where there is no page, nobody is led to a login that is elsewhere.
        for path in ["api/resources", "api/managers", "events", "openapi.json", "no/such/page"] {
            let answer = site.get(path).await;
            assert_eq!((answer.status, answer.text.contains("orders")), (401, false), "{path}");
        }
        for open in ["login", "console.css", "console.js", "icon.svg"] {
            assert_eq!(site.get(open).await.status, 200, "{open}");
        }
        let request = || TestRequest::get().uri("/locks/metrics").insert_header(("host", HOST));
        assert!(site.console.check(&request().to_http_request()).is_err());
        let bearer = ("authorization", format!("Bearer {TOKEN}"));
        assert!(site.console.check(&request().insert_header(bearer).to_http_request()).is_ok());
        site.sign_in().await;
        assert!(site.get("?all=true").await.text.contains("orders/1"));
        assert_eq!(site.post("logout", &[]).await.leads_to(), "./");
        assert_eq!(site.get("").await.leads_to(), "login");
        let lines = site.audit.lines();
        for action in ["login", "logout"] {
            let named =
                |line: &String| line.contains(&format!("action=\"{action}\"")) && line.contains("ann <ops>");
            assert!(lines.iter().any(named), "{lines:#?}");
        }
        assert!(lines.iter().any(|line| line.contains("/locks/metrics") && line.contains("refused")));
    });
}

#[test]
fn a_page_of_another_site_cannot_let_the_store_work() {
    in_virtual_time(|| async {
        let site = Site::new();
        let read = async |mode, dest| {
            let request = TestRequest::get().uri("/locks/api/resources?all=true");
            let request = request.insert_header(("host", HOST)).insert_header(("sec-fetch-mode", mode));
            let request = request.insert_header(("sec-fetch-dest", dest));
            site.send(request.insert_header(("sec-fetch-site", "cross-site"))).await
        };
        for (mode, dest, status) in
            [("no-cors", "image", 403), ("navigate", "iframe", 403), ("navigate", "document", 200)]
        {
            let answer = read(mode, dest).await;
            assert_eq!(
                (answer.status, answer.header("cross-origin-resource-policy")),
                (status, "same-origin"),
                "{mode} {dest}"
            );
        }
        // Nor can it fill the audit.
        assert_eq!(site.audit.lines(), Vec::<String>::new());
    });
}

/// The paths of all routes, as the sources of the console name them.
fn routes() -> Vec<&'static str> {
    let sources = [
        include_str!("../../crates/console/src/pages/mod.rs"),
        include_str!("../../crates/console/src/api/mod.rs"),
    ];
    let named = |source: &'static str| source.split("\"/").skip(1).filter_map(|rest| rest.split('"').next());
    let mut routes: Vec<_> = sources.into_iter().flat_map(named).collect();
    routes.sort_unstable();
    routes.dedup();
    routes
}

#[test]
fn no_route_tells_anything_of_the_store_before_a_session() {
    in_virtual_time(|| async {
        let routes = routes();
        assert!(["", "login", "api/resources", "events"].iter().all(|known| routes.contains(known)));
        let site = Site::with(|console| console.token(TOKEN).reading_needs_token());
        let _lease = site.hold(Acquire::new("orders/1")).await;
        site.wait_for("orders/1").await;
        site.look().await;
        let tells = |text: &str| {
            ["1 resource contended", "orders", "Not looked yet", "data-revision=\""]
                .iter()
                .any(|it| text.contains(it))
        };
        for route in &routes {
            let named = format!("{route}?name=orders/1&all=true");
            for answer in [site.get(route).await, site.get(&named).await, site.post(route, &FORCE).await] {
                assert!(!tells(&answer.text), "{route}: {}", answer.text);
            }
        }
        site.sign_in().await;
        // A stream of events does not end.
        for route in routes.iter().filter(|route| ["", "login", "managers", "tuning"].contains(route)) {
            assert!(site.get(route).await.text.contains("1 resource contended"), "{route}");
        }
        assert!(site.get("api/resources?all=true").await.text.contains("orders/1"));
    });
}

#[test]
fn requests_for_other_hosts_do_not_fill_the_audit() {
    in_virtual_time(|| async {
        let site = Site::new();
        let ask = async || {
            for path in ["/locks/", "/locks/api/resources", "/locks/login"] {
                let request = TestRequest::get().uri(path).insert_header(("host", "evil.example"));
                assert_eq!(site.send(request).await.status, 421);
            }
            let metrics = TestRequest::get().uri("/metrics").insert_header(("host", "evil.example"));
            assert!(site.console.check(&metrics.to_http_request()).is_err());
            site.audit.lines().iter().filter(|line| line.contains("other_host")).count()
        };
        assert_eq!((ask().await, ask().await), (1, 1));
        tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        assert_eq!(ask().await, 2);
    });
}
