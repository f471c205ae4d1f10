package fetch

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// slowly sends a megabyte a second for some seconds.
type slowly struct{ left int }

func (s *slowly) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	s.left--
	time.Sleep(5 * time.Millisecond)
	return copy(p, make([]byte, 5_000)), nil
}

func (s *slowly) Open(_ context.Context, url string) (io.ReadCloser, int64, error) {
	if url == "nothing" {
		return nil, 0, errors.New("nothing is there")
	}
	return io.NopCloser(s), 2_000_000, nil
}

// The observer gets the bytes, the rate and the URL of a download as it comes, and its end. The
// lines that keep it: progress.go, Read and end.
func TestObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		var last Transfer
		o := Observed{&slowly{left: 400}, func(p Transfer) { last, told = p, append(told, p.String()) }}
		body, _, err := o.Open(t.Context(), "https://user:secret@mirror.example.com/a.tgz?token=1")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, body); err != nil || body.Close() != nil {
			t.Fatal(err)
		}
		const shown = "https://mirror.example.com/a.tgz?…: "
		want := []string{shown + "0.0 MB, 0.0 MB/s", shown + "0.5 of 2.0 MB, 1.0 MB/s", shown + "1.0 of 2.0 MB, 1.0 MB/s",
			shown + "1.5 of 2.0 MB, 1.0 MB/s", shown + "2.0 of 2.0 MB, 1.0 MB/s", shown + "2.0 of 2.0 MB, 1.0 MB/s"}
		if !slices.Equal(told, want) || !last.Over {
			t.Errorf("told is %q", told)
		}
		if _, _, err := o.Open(t.Context(), "nothing"); err == nil || !last.Over || last.URL != "nothing" {
			t.Errorf("nothing to open: %+v, %v; want an error and the end", last, err)
		}
	})
}
