package host

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestHoldsComparesEveryByte(t *testing.T) {
	h, root := image(t)
	full := bytes.Repeat([]byte("x"), MaxCompare)
	must(t, os.WriteFile(root+"/f", []byte("hello"), 0o600), os.WriteFile(root+"/empty", nil, 0o600), os.WriteFile(root+"/full", full, 0o600),
		os.WriteFile(root+"/fuller", append(full, 'x'), 0o600), os.Symlink("f", root+"/link"), os.Mkdir(root+"/dir", 0o700), unix.Mkfifo(root+"/pipe", 0o600))
	for _, c := range []struct {
		path    string
		content []byte
		want    bool
	}{
		{"/f", []byte("hello"), true}, {"/f", []byte("hellO"), false}, {"/f", []byte("hell"), false}, {"/f", []byte("hello!"), false}, {"/f", nil, false},
		{"/empty", nil, true}, {"/empty", []byte("x"), false}, {"/full", full, true}, {"/full", full[1:], false}, {"/fuller", full, false},
	} {
		if got, err := h.Holds(c.path, c.content); err != nil || got != c.want {
			t.Errorf("Holds(%s, %d bytes) = %t, %v; want %t", c.path, len(c.content), got, err, c.want)
		}
	}
	for path, want := range map[string]error{"/none": ErrNotExist, "/link": unix.ELOOP, "/dir": unix.EISDIR, "/dir/../../f": nil} {
		if got, err := h.Holds(path, []byte("hello")); got && want != nil || !errors.Is(err, want) {
			t.Errorf("Holds(%s) = %t, %v; want %v", path, got, err, want)
		}
	}
	if _, err := h.Holds("/full", append(full, 'x')); !errors.Is(err, unix.EFBIG) {
		t.Errorf("more than can be compared: %v", err)
	}
	if got, err := h.Holds("/pipe", nil); err == nil && !got { // nobody writes to it: it must not wait
		t.Error("an empty pipe holds something")
	}
}
