use super::*;
use proptest::prelude::*;

fn error(text: &str) -> String {
    parse(text).expect_err(text).to_string()
}

#[test]
fn every_field_is_read() {
    let text = r#" game = "gore" AND state=ACTIVE AND labels.team = red AND labels."a \"b\" \\" = "é, = AND"
        AND player = alice AND south.player = "alice" AND north.player = bob@x
        AND create_time < 2026-01-01T00:00:00Z AND update_time >= "2026-01-01T00:00:00.000001Z" "#;
    let text = text.replace("bob@x", "\"bob@x\"");
    let new_year = 1_767_225_600_000_000;
    let expected = [
        Comparison::Game(Game::Gore),
        Comparison::State(State::Active),
        Comparison::Label("team".into(), "red".into()),
        Comparison::Label(r#"a "b" \"#.into(), "é, = AND".into()),
        Comparison::Player("alice".into()),
        Comparison::Seat(Seat::South, "alice".into()),
        Comparison::Seat(Seat::North, "bob@x".into()),
        Comparison::Created(Relation::Before, new_year),
        Comparison::Updated(Relation::From, new_year + 1),
    ];
    assert_eq!(parse(&text).as_deref(), Ok(&expected[..]));
    assert_eq!(parse(" \n"), Ok(vec![]));
    assert_eq!(parse("state = SESSION_STATE_ABORTED"), Ok(vec![Comparison::State(State::Aborted)]));
}

#[test]
fn every_relation_is_read() {
    for (sign, relation) in
        [("<", Relation::Before), ("<=", Relation::UpTo), ("=", Relation::At), (">=", Relation::From), (">", Relation::After)]
    {
        assert_eq!(parse(&format!("create_time{sign}1970-01-01T00:00:01Z")), Ok(vec![Comparison::Created(relation, 1_000_000)]));
    }
}

#[test]
fn errors_say_where_and_what() {
    for (text, expected) in [
        ("gore", format!("at character 1: expected {FIELD}")),
        ("NOT game = gore", format!("at character 1: expected {FIELD}")),
        ("(game = gore)", format!("at character 1: expected {FIELD}")),
        ("game = gore AND", format!("at character 16: expected {FIELD}")),
        ("game = gore OR game = kiothi", "at character 13: expected AND, or the end of the filter (there is no OR)".into()),
        ("game = gore, state = ACTIVE", "at character 12: expected AND, or the end of the filter (there is no OR)".into()),
        ("game", "at character 5: expected =".into()),
        ("game != gore", "at character 6: expected =".into()),
        ("game > gore", "at character 6: expected =".into()),
        ("game = chess", "at character 8: expected a game: ali_guli_mane, ayoayo, gore, hoyito3 or kiothi".into()),
        ("state = OVER", "at character 9: expected a state: ACTIVE, FINISHED or ABORTED".into()),
        ("player =", format!("at character 9: expected {VALUE}")),
        ("player = AND", format!("at character 10: expected {VALUE}")),
        ("player = é", format!("at character 10: expected {VALUE}")),
        ("player = \"é", "at character 12: expected \" at the end of the text".into()),
        ("player = \"é\\n\"", "at character 13: expected \" or \\ after a backslash".into()),
        ("labels = red", format!("at character 1: expected {FIELD}")),
        ("labels. = red", "at character 8: expected the key of a label".into()),
        ("create_time != 2026-01-01T00:00:00Z", "at character 13: expected =, <, <=, > or >=".into()),
        ("create_time > yesterday", format!("at character 15: expected {TIME}")),
        ("create_time > 2026-01-01T00:00:00.0000001Z", format!("at character 15: expected {TIME}")),
        ("create_time > \"10000-01-01T00:00:00Z\"", format!("at character 15: expected {TIME}")),
    ] {
        assert_eq!(error(text), expected, "{text}");
    }
    let longest = format!("player = \"{}\"", "x".repeat(MAX_FILTER - 11));
    assert_eq!(parse(&longest).map(|comparisons| comparisons.len()), Ok(1));
    assert_eq!(error(&format!("{longest} ")), "at character 1: expected a filter of at most 2,000 bytes");
}

fn narrowed(text: &str) -> Option<Filter> {
    let mut filter = Filter::default();
    let fits = parse(text).expect(text).into_iter().all(|comparison| narrow(&mut filter, comparison));
    fits.then_some(filter)
}

#[test]
fn comparisons_add_up_until_nothing_can_be_like_that() {
    for text in [
        "game = gore AND game = gore",
        "player = a AND player = b AND player = a",
        "player = a AND south.player = a AND north.player = a",
        "create_time >= 1970-01-01T00:00:01Z AND create_time <= 1970-01-01T00:00:01Z",
        "create_time = 1970-01-01T00:00:01Z AND update_time < 1970-01-01T00:00:01Z",
    ] {
        assert!(narrowed(text).is_some(), "{text}");
    }
    for text in [
        "game = gore AND game = kiothi",
        "state = ACTIVE AND state = FINISHED",
        "labels.a = b AND labels.a = c",
        "player = a AND player = b AND player = c",
        "south.player = a AND south.player = b",
        "north.player = a AND north.player = b",
        "create_time > 1970-01-01T00:00:01Z AND create_time <= 1970-01-01T00:00:01Z",
        "update_time = 1970-01-01T00:00:01Z AND update_time < 1970-01-01T00:00:01Z",
    ] {
        assert_eq!(narrowed(text), None, "{text}");
    }
    let between =
        "update_time > 1970-01-01T00:00:01Z AND update_time <= 1970-01-01T00:00:09Z AND update_time < 1970-01-01T00:00:10Z";
    assert_eq!(narrowed(between).map(|filter| filter.updated), Some(Span { from: Some(1_000_001), before: Some(9_000_001) }));
}

fn any_comparison() -> impl Strategy<Value = Comparison> {
    let time = || -62_135_596_800_000_000..253_402_300_800_000_000i64;
    let relation = || proptest::sample::select(&Relation::ALL);
    let seat = proptest::sample::select(vec![Seat::South, Seat::North]);
    prop_oneof![
        proptest::sample::select(&Game::ALL).prop_map(Comparison::Game),
        proptest::sample::select(vec![State::Active, State::Finished, State::Aborted]).prop_map(Comparison::State),
        (".{0,8}", ".{0,8}").prop_map(|(key, value)| Comparison::Label(key, value)),
        "[a-zA-Z.:-]{1,8}".prop_map(|key| Comparison::Label(key, "AND".into())),
        ".{0,8}".prop_map(Comparison::Player),
        (seat, ".{0,8}").prop_map(|(seat, player)| Comparison::Seat(seat, player)),
        (relation(), time()).prop_map(|(relation, time)| Comparison::Created(relation, time)),
        (relation(), time()).prop_map(|(relation, time)| Comparison::Updated(relation, time)),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(comparisons in proptest::collection::vec(any_comparison(), 0..8)) {
        let text = comparisons.iter().map(Comparison::to_string).collect::<Vec<_>>().join(" AND ");
        prop_assert_eq!(parse(&text), Ok(comparisons), "{}", text);
    }

    #[test]
    fn any_text_is_read_or_refused_within_it(text in ".{0,60}") {
        if let Err(FilterError { at, .. }) = parse(&text) {
            prop_assert!((1..=text.chars().count() + 1).contains(&at));
        }
    }

    /// Texts that are nearly filters get further than any others.
    #[test]
    fn nearly_filters_are_read_or_refused_within_them(
        parts in proptest::collection::vec(proptest::sample::select(vec![
            "game", "state", "labels.", "labels.a", "create_time", "south.player", "=", ">", "<=", "\"", "\\", "é", "AND", "OR", "gore",
            "ACTIVE", "2026-01-01T00:00:00Z", "-9223372036854775808-01-01", "2026-02-30", "99:99", "+99:99", ".", " ", "\n",
        ]), 0..12),
    ) {
        let text = parts.concat();
        if let Err(FilterError { at, .. }) = parse(&text) {
            prop_assert!((1..=text.chars().count() + 1).contains(&at));
        }
    }
}
