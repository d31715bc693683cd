package confine

import (
	"regexp"
	"testing"
)

func TestEachFolderHasAWriterOfItsOwn(t *testing.T) {
	a := writerSID(`C:\src\a`)
	if !regexp.MustCompile(`^S-1-5-21(-\d{1,10}){4}$`).MatchString(a) {
		t.Errorf("%s is no SID of an account", a)
	}
	if b := writerSID(`c:\SRC\a`); b != a {
		t.Errorf("another case of the same path: %s and %s", a, b)
	}
	if b := writerSID(`C:\src\b`); b == a {
		t.Errorf("two folders have the writer %s", a)
	}
}
