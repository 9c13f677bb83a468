//! The provider of credentials: it is asked when they are needed, before they end, and when a server refuses them.

use std::{
    error::Error,
    fmt, fs,
    panic::AssertUnwindSafe,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::{
    sync::{Mutex, watch},
    task::spawn_blocking,
    time::{Instant, sleep_until, timeout},
};

use super::Credentials;
use crate::{core::InvalidValue, store::StoreError};

/// The interval at which files are read, the pause after a failure, and the time for which a new connection takes the last answer.
const PERIOD: Duration = Duration::from_secs(1);
/// The longest time that an answer may take. Callers do not wait for as long: it is kept for the next one.
const LONGEST: Duration = Duration::from_secs(30);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

type BoxError = Box<dyn Error + Send + Sync>;
type Callback = dyn Fn() -> BoxFuture<'static, Result<Credentials, BoxError>> + Send + Sync;

/// A provider of [`Credentials`] that change while a store is open: tokens of a cloud, or files that a sidecar rewrites. Clones are one
/// provider. It is an option of a store: [`RedisOptions::credentials`](crate::RedisOptions::credentials).
///
/// It is asked when a connection opens, at most once a second (with credentials that [end](Credentials::valid_for), not before four fifths
/// of their time); before they end; when a server refuses them; and after [`refresh`](Self::refresh). With new credentials, open connections
/// log in again, and subscriptions are opened again beside the old ones. While a server refuses them, open connections keep the login
/// that they have. A request that was refused for its user was not executed, and is sent again.
///
/// A failure or panic is logged once, and the last credentials stay in use. Without any, verbs are [`StoreError::Unavailable`].
///
/// ```
/// use std::{io, time::Duration};
/// use leasehold::{Credentials, CredentialsProvider, RedisOptions, RedisStore};
///
/// async fn token() -> io::Result<String> {
///     Ok("of the cloud".to_owned()) // whatever the SDK of your cloud does
/// }
///
/// let provider = CredentialsProvider::new(|| async {
///     let token = token().await?;
///     Ok::<_, io::Error>(Credentials::new(token).user("locker").valid_for(Duration::from_secs(900)))
/// });
/// let options = RedisOptions { credentials: Some(provider), ..RedisOptions::default() };
/// let store = RedisStore::with_options("redis://redis.example", options)?;
/// # let _ = store;
/// # Ok::<(), leasehold::InvalidValue>(())
/// ```
#[derive(Clone)]
pub struct CredentialsProvider(Arc<Provider>);

struct Provider {
    ask: Box<Callback>,
    files: Option<CredentialFiles>,
    /// A lock that is held while it is asked.
    asking: Mutex<()>,
    state: watch::Sender<State>,
    was_accepted: AtomicBool,
}

#[derive(Clone, Default)]
struct State {
    known: Option<KnownCredentials>,
    /// The ones before: a server may not know the new ones yet.
    previous: Option<KnownCredentials>,
    /// The beginning of the last question.
    asked: Option<Instant>,
    error: Option<StoreError>,
    /// The time of the next question that nobody waits for.
    due: Option<Instant>,
    refreshed: Option<Instant>,
}

/// Credentials with their version, counted from 1.
#[derive(Clone)]
pub(crate) struct KnownCredentials {
    pub(crate) version: u64,
    pub(crate) credentials: Arc<Credentials>,
}

/// A file with a password, and perhaps one with a user.
#[derive(Clone)]
struct CredentialFiles {
    password: PathBuf,
    user: Option<PathBuf>,
}

impl CredentialsProvider {
    /// Creates a provider of what a function returns within 30 s. Its error is logged, so it must not show a secret. The function
    /// is called in a task of the tokio runtime of a connection, and must not block.
    pub fn new<F, E>(ask: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Credentials, E>> + Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        Self::of(None, Box::new(move || ask().map(|asked| asked.map_err(Into::into)).boxed()))
    }

    /// Creates a provider of the line in a file, which is a password, and of the user in another one. Default: the default user. The
    /// files are read once a second by their names, however they are replaced.
    ///
    /// Without one of the files, or with an empty one, no store is created.
    pub fn from_files(password: impl Into<PathBuf>, user: Option<PathBuf>) -> Self {
        let files = CredentialFiles { password: password.into(), user };
        let read = files.clone();
        let ask = move || {
            let files = read.clone();
            spawn_blocking(move || files.read()).map(|read| Ok(read??)).boxed()
        };
        Self::of(Some(files), Box::new(ask))
    }

    fn of(files: Option<CredentialFiles>, ask: Box<Callback>) -> Self {
        let (asking, state, was_accepted) = Default::default();
        Self(Arc::new(Provider { ask, files, asking, state, was_accepted }))
    }

    /// Has the provider asked again, now if a connection is open, and otherwise when the next one opens.
    pub fn refresh(&self) {
        let now = Some(Instant::now());
        self.0.state.send_modify(|state| (state.due, state.refreshed) = (now, now));
    }

    /// Returns the name of the setting in errors.
    pub(crate) fn field(&self) -> &'static str {
        if self.0.files.is_some() { "store.password_file" } else { "credentials" }
    }

    /// Makes sure that its files can be read.
    pub(crate) fn check(&self) -> Result<(), InvalidValue> {
        self.0.files.as_ref().map_or(Ok(()), |files| files.read().map(drop))
    }

    /// Returns the credentials for a new connection. Where there are some, an answer that takes longer than this is not waited for.
    pub(crate) async fn current(&self, patience: Duration) -> Result<KnownCredentials, StoreError> {
        let now = Instant::now();
        let State { known, due, asked, .. } = self.0.state.borrow().clone();
        let fresh_until = due.or(asked.map(|asked| asked + PERIOD));
        match known {
            Some(known) if fresh_until > Some(now) => Ok(known),
            Some(known) => timeout(patience, self.asked_after(now)).await.unwrap_or(Ok(known)),
            None => self.asked_after(now).await,
        }
    }

    /// Returns the answer to a question after this moment, or the last one before if that fails.
    pub(crate) async fn asked_after(&self, moment: Instant) -> Result<KnownCredentials, StoreError> {
        let this = Arc::clone(&self.0);
        // In a task of its own, so that a caller that gives up does not stop it for the others.
        let asking = tokio::spawn(async move {
            let _turn = this.asking.lock().await;
            if this.state.borrow().asked.is_none_or(|asked| asked < moment) {
                let began = Instant::now();
                let answer = AssertUnwindSafe(async { (this.ask)().await }).catch_unwind();
                let answer = timeout(LONGEST, answer).await.map_err(|_| "no answer".into());
                let answer = answer.and_then(|asked| asked.unwrap_or_else(|_| Err("it panicked".into())));
                this.state.send_modify(|state| state.keep(answer, began, this.files.is_some()));
            }
        });
        let _ = asking.await;
        let State { known, error, .. } = &*self.0.state.borrow();
        let ended = || StoreError::unavailable("the provider of credentials ended with its runtime");
        known.clone().ok_or_else(|| error.clone().unwrap_or_else(ended))
    }

    /// Waits for other credentials than those of this version, and asks for them when that is due.
    pub(crate) async fn newer_than(&self, version: u64) -> KnownCredentials {
        let mut state = self.0.state.subscribe();
        loop {
            let due = match &*state.borrow_and_update() {
                State { known: Some(known), .. } if known.version > version => return known.clone(),
                State { due, .. } => due.unwrap_or_else(|| Instant::now() + DAY),
            };
            tokio::select! {
                // It fails only if the sender is gone, which this owns.
                _ = state.changed() => {}
                () = sleep_until(due) => drop(self.asked_after(due).await),
            }
        }
    }

    /// Returns the credentials before the last change.
    pub(crate) fn previous(&self) -> Option<KnownCredentials> {
        self.0.state.borrow().previous.clone()
    }

    /// Notes that a server has accepted credentials: from now on a refusal may be that of a rotation.
    pub(crate) fn note_accepted(&self) {
        self.0.was_accepted.store(true, Ordering::Relaxed);
    }

    pub(crate) fn was_accepted(&self) -> bool {
        self.0.was_accepted.load(Ordering::Relaxed)
    }
}

impl State {
    fn keep(&mut self, answer: Result<Credentials, BoxError>, began: Instant, of_files: bool) {
        let refreshed = self.refreshed.filter(|at| *at > began);
        self.asked = Some(began);
        let had_failed = self.error.is_some();
        self.error =
            answer.as_ref().err().map(|error| StoreError::unavailable(format!("no credentials: {error}")));
        let credentials = match answer {
            Ok(credentials) => credentials,
            Err(error) => {
                self.due = Some(Instant::now() + PERIOD);
                if !had_failed {
                    tracing::warn!(%error, "no credentials for the store; the last ones, if any, stay in use");
                }
                return;
            }
        };
        if had_failed {
            tracing::info!("credentials for the store are provided again");
        }
        let before_end = credentials.valid_for.map(|time| (time / 5 * 4).max(PERIOD));
        let pause = before_end.or(of_files.then_some(PERIOD));
        self.due = refreshed.or(pause.and_then(|pause| began.checked_add(pause)));
        let version = match &self.known {
            Some(KnownCredentials { credentials: known, .. })
                if (&known.user, &known.password) == (&credentials.user, &credentials.password) =>
            {
                return;
            }
            known => known.as_ref().map_or(1, |known| known.version + 1),
        };
        let known = KnownCredentials { version, credentials: Arc::new(credentials) };
        self.previous = self.known.replace(known);
    }
}

impl CredentialFiles {
    /// Reads the files, whatever their names lead to by now. The error shows nothing of their content.
    fn read(&self) -> Result<Credentials, InvalidValue> {
        let read = |field, path: &PathBuf| {
            let wrong = |fault: &dyn fmt::Display| {
                let value = format_args!("{}: {fault}", path.display());
                InvalidValue::new(field, value, "a file with one line of text")
            };
            let text = fs::read_to_string(path).map_err(|error| wrong(&error))?;
            match text.trim_end_matches(['\n', '\r']) {
                "" => Err(wrong(&"it is empty")),
                line if line.contains('\n') => Err(wrong(&"it has more than one line")),
                line => Ok(line.to_owned()),
            }
        };
        let credentials = Credentials::new(read("store.password_file", &self.password)?);
        let user = self.user.as_ref().map(|user| read("store.user_file", user)).transpose()?;
        Ok(user.into_iter().fold(credentials, Credentials::user))
    }
}

/// Two are equal if they are clones of one.
impl PartialEq for CredentialsProvider {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for CredentialsProvider {}

impl fmt::Debug for CredentialsProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CredentialsProvider").field(&self.field()).finish()
    }
}

#[cfg(test)]
mod tests;
