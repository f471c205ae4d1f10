package accounts

import (
	"io/fs"
	"testing"
)

// The first entry of a number counts, as in the C library. What is no entry is left out. The line
// that keeps it: accounts.go, Name.
func TestName(t *testing.T) {
	read := func(string) ([]byte, error) {
		return []byte("root:x:0:0::/root:/bin/sh\n+::::::\nada:x:1000:1000::/:\nalso:x:1000:1000::/:\nx:y\n"), nil
	}
	for uid, want := range map[int]string{0: "root", 1000: "ada", 1001: ""} {
		if got := Name(uid, read); got != want {
			t.Errorf("user %d is %q, want %q", uid, got, want)
		}
	}
	if got := Name(0, func(string) ([]byte, error) { return nil, fs.ErrNotExist }); got != "" {
		t.Errorf("without passwd user 0 is %q", got)
	}
}
