//! The bridge to OpenTelemetry: the trace that a span belongs to, as text, and links to it.

use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// Returns the trace and the id of a span as `00-trace-span-flags`. `None` if no layer of OpenTelemetry sees the span, or if
/// its trace is not recorded: nobody could look it up.
pub(super) fn traceparent(span: &Span) -> Option<String> {
    let context = span.context();
    let span = context.span();
    let known = span.span_context();
    (known.is_valid() && known.is_sampled())
        .then(|| format!("00-{}-{}-{:02x}", known.trace_id(), known.span_id(), known.trace_flags().to_u8()))
}

/// Links a span to another one, given as `00-trace-span-flags`. A text that is something else is left alone: it comes from
/// the metadata of any holder.
pub(super) fn link(span: &Span, traceparent: &str) {
    if let Some(other) = read(traceparent) {
        span.add_link(other);
    }
}

/// Makes a span a part of the trace of an earlier one. Returns false if no layer of OpenTelemetry sees it.
pub(super) fn continue_in(span: &Span, earlier: &Span) -> bool {
    span.set_parent(earlier.context()).is_ok()
}

fn read(traceparent: &str) -> Option<SpanContext> {
    let mut parts = traceparent.split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let is_hex = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let lengths = [trace.len(), span.len(), flags.len()];
    if version != "00"
        || lengths != [32, 16, 2]
        || ![trace, span, flags].into_iter().all(is_hex)
        || parts.next().is_some()
    {
        return None;
    }
    let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?);
    Some(SpanContext::new(trace, span, flags, true, TraceState::default())).filter(SpanContext::is_valid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_read_as_it_is_written_and_nothing_else_is() {
        let trace = "0af7651916cd43dd8448eb211c80319c";
        let known = read(&format!("00-{trace}-b7ad6b7169203331-01")).unwrap();
        assert_eq!(
            (known.trace_id().to_string(), known.span_id().to_string()),
            (trace.to_owned(), "b7ad6b7169203331".to_owned())
        );
        assert!(known.is_sampled() && known.is_remote());
        let zero = "00000000000000000000000000000000";
        for wrong in [
            "",
            "a holder",
            "00-1-2-3",
            &format!("01-{trace}-b7ad6b7169203331-01"),
            &format!("00-{zero}-b7ad6b7169203331-01"),
            &format!("00-{trace}-b7ad6b7169203331-01-x"),
            &format!("00-{trace}-b7ad6b716920333ä-01"),
            &format!("00-{trace}-b7ad6b7169203331-zz"),
            &format!("00-{trace}-b7ad6b7169203331-+1"),
            &format!("00-{trace}-b7ad6b7169203331-1"),
            &format!("00-{trace}-b7ad6b7169203331-001"),
            &format!("00-{trace}-+7ad6b7169203331-01"),
            &format!("00-+{}-b7ad6b7169203331-01", &trace[1..]),
        ] {
            assert!(read(wrong).is_none(), "{wrong}");
        }
    }
}
