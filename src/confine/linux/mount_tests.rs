use super::*;

#[test]
fn paths_of_mountinfo_read() {
    assert_eq!(unescaped(r"/a\040b\134c\011"), "/a b\\c\t");
    assert_eq!(unescaped(r"/a\04"), r"/a\04");
}
