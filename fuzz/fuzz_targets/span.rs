//! Any text as a span; a negative one is its positive twin with the sign turned.
#![no_main]
use consort_types::Span;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(span) = text.parse::<Span>() else { return };
    let _ = span.to_string();
    if !text.trim().starts_with('-') {
        assert!(span >= Span::ZERO);
        assert_eq!(format!("-{}", text.trim()).parse(), Ok(Span(-span.0)));
    }
});
