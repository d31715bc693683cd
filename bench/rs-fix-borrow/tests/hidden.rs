#[test]
fn hidden() {
    let text = String::from("a bcd efg hi");
    let w = { let words = Words::new(&text); words.longest() };
    assert_eq!(w, "bcd");
    assert!(text.as_ptr() as usize <= w.as_ptr() as usize);
    assert_eq!(longest(""), "");
}
