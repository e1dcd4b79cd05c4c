#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    mancala_fuzz::requests::run(input);
});
