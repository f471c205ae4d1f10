package hostfs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// racing has another writer add lines to a file, one after another, while we set a line of our own
// in it. It returns the file's text when both have ended.
func racing(t *testing.T, theirs func(path string, i int) error) (text string, lines int) {
	t.Helper()
	h, root := image(t)
	const name = "/etc/shared.conf"
	at := filepath.Join(root, name)
	if err := h.WriteFile(t.Context(), name, []byte("ours 0\n"), FileSpec{Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	lines = 200
	ended := make(chan error, 1)
	go func() {
		for i := range lines {
			if err := theirs(at, i); err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	edits := 0
	for len(ended) == 0 {
		edits++
		err := h.EditFile(t.Context(), name, func(old []byte) ([]byte, error) {
			rest := old
			if first, after, _ := bytes.Cut(old, []byte("\n")); bytes.HasPrefix(first, []byte("ours ")) {
				rest = after
			}
			return append(fmt.Appendf(nil, "ours %d\n", edits), rest...), nil
		})
		if err != nil && !strings.Contains(err.Error(), ErrWrittenMeanwhile.Error()) {
			t.Fatal(err)
		}
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	return string(data), lines
}

// heldTo checks that a file has each of the other writer's lines once, complete and in order.
func heldTo(t *testing.T, text string, lines int) {
	t.Helper()
	next := 0
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		switch {
		case i == 0 && strings.HasPrefix(line, "ours "):
		case line == fmt.Sprintf("theirs %d", next):
			next++
		default:
			t.Fatalf("line %d is %q, want theirs %d of %d", i, line, next, lines)
		}
	}
	if next != lines {
		t.Errorf("%d of their %d lines are left", next, lines)
	}
}

func TestAnEditLosesNothingOfWhoAppends(t *testing.T) {
	text, lines := racing(t, func(path string, i int) error {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(f, "theirs %d\n", i)
		return errorsOf(err, f.Close())
	})
	heldTo(t, text, lines)
}

// A person's editor replaces the whole file with the text that it has in memory.
func TestAnEditLosesNothingOfWhoReplaces(t *testing.T) {
	var all bytes.Buffer
	text, lines := racing(t, func(path string, i int) error {
		fmt.Fprintf(&all, "theirs %d\n", i)
		temp := path + "~"
		if err := os.WriteFile(temp, append([]byte("ours kept\n"), all.Bytes()...), 0o644); err != nil {
			return err
		}
		return os.Rename(temp, path)
	})
	heldTo(t, text, lines)
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Here another write between our read and our write is certain: the edit itself makes it.
func TestAnEditIsMadeAgainOnWhatOthersWrote(t *testing.T) {
	for name, theirs := range map[string]func(path string) error{
		"appended": func(path string) error {
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("theirs\n")
			return errorsOf(err, f.Close())
		},
		"replaced": func(path string) error {
			return errorsOf(os.WriteFile(path+"~", []byte("was\ntheirs\n"), 0o644), os.Rename(path+"~", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, at := edited(t)
			calls := 0
			err := h.EditFile(t.Context(), "/etc/x", func(old []byte) ([]byte, error) {
				if calls++; calls == 1 {
					if err := theirs(at); err != nil {
						return nil, err
					}
				}
				return append(bytes.Clone(old), "ours\n"...), nil
			})
			if data, _ := os.ReadFile(at); err != nil || calls != 2 || string(data) != "was\ntheirs\nours\n" {
				t.Errorf("after %d edits %q, %v", calls, data, err)
			}
		})
	}
}

func TestAnEditLeavesAFileThatSomebodyIsWriting(t *testing.T) {
	h, at := edited(t)
	f, err := os.OpenFile(at, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	edit := func(old []byte) ([]byte, error) { return append(bytes.Clone(old), "ours\n"...), nil }
	err = h.EditFile(t.Context(), "/etc/x", edit)
	if data, _ := os.ReadFile(at); !errors.Is(err, ErrWrittenMeanwhile) || string(data) != "was\n" {
		t.Errorf("while it is open: %q, %v", data, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := h.EditFile(t.Context(), "/etc/x", edit); err != nil {
		t.Error(err)
	}
	names, err := os.ReadDir(filepath.Dir(at))
	if err != nil || len(names) != 1 {
		t.Errorf("left behind: %v, %v", names, err)
	}
}

func edited(t *testing.T) (*readWriter, string) {
	t.Helper()
	h, root := image(t)
	if err := h.WriteFile(t.Context(), "/etc/x", []byte("was\n"), FileSpec{Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	return h, filepath.Join(root, "/etc/x")
}
