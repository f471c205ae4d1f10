package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
)

// Part is what an object has from some byte on.
type Part struct {
	Body io.ReadCloser
	From int64  // the byte that Body begins with: what was asked for, or 0 when the server begins anew
	Size int64  // of the whole object; -1: unknown
	ETag string // by which it is known again; "": it is not
}

// resumes is how often a download is taken up again. Each time some bytes must have come since, and
// of a server that became too slow more than [lively]: one that is slow from the start is left for
// the next URL, or the next attempt.
const (
	resumes = 5
	lively  = 1 << 20
)

// Resume opens an object, and when its body breaks off asks for the rest of the same object. open
// is asked for what comes from a byte on, of the object with this ETag; the first time for all of
// any. Errors of reading are those of the last attempt.
func Resume(
	ctx context.Context, open func(ctx context.Context, from int64, etag string) (Part, error),
) (io.ReadCloser, int64, error) {
	p, err := open(ctx, 0, "")
	if err != nil {
		return nil, 0, err
	}
	next := func(from int64) (Part, error) { return open(ctx, from, p.ETag) }
	return &resuming{next: next, part: p}, p.Size, nil
}

type resuming struct {
	next func(from int64) (Part, error)
	part Part
	at   int64 // bytes that were read
	last int64 // where it was taken up
	used int
}

// Read implements [io.Reader].
func (r *resuming) Read(p []byte) (int, error) {
	n, err := r.part.Body.Read(p)
	r.at += int64(n)
	if err == io.EOF && r.part.Size >= 0 && r.at < r.part.Size {
		err = graph.Transient(fmt.Errorf("it ended after %d of %d bytes: look at the server and the proxy", r.at,
			r.part.Size))
	}
	if err == nil || err == io.EOF || !graph.IsTransient(err) || !r.again(err) {
		return n, err
	}
	return n, nil
}

// again takes the download up where it broke off, if that is possible. If it is not the first error
// stands.
func (r *resuming) again(broken error) bool {
	if r.part.ETag == "" || strings.HasPrefix(r.part.ETag, "W/") || r.at == r.last || r.used == resumes {
		return false
	}
	if errors.Is(broken, ErrStalled) && r.at-r.last < lively {
		return false
	}
	r.used, r.last = r.used+1, r.at
	next, err := r.next(r.at)
	if err != nil {
		return false
	}
	if next.From != r.at || next.ETag != r.part.ETag || next.Size != r.part.Size {
		next.Body.Close() // it is another object, or one from its beginning
		return false
	}
	r.part.Body.Close()
	r.part.Body = next.Body
	return true
}

// Close implements [io.Closer].
func (r *resuming) Close() error { return r.part.Body.Close() }

// Range asks for what comes from a byte on, if the object is still the one with this ETag.
// https://www.rfc-editor.org/rfc/rfc9110#section-13.1.5
func Range(from int64, etag string) http.Header {
	header := http.Header{}
	if from > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-", from))
		header.Set("If-Range", etag)
	}
	return header
}

var errRange = errors.New("the server sends another part than was asked for: look at the server and the proxy")

// PartOf is the part in an answer of status 200 or 206 to a request for what comes from a byte on.
func PartOf(r *http.Response, from int64) (Part, error) {
	p := Part{Body: r.Body, Size: r.ContentLength, ETag: r.Header.Get("ETag")}
	if r.StatusCode != http.StatusPartialContent {
		return p, nil
	}
	begin, total, ok := contentRange(r.Header.Get("Content-Range"))
	if !ok || begin != from {
		return Part{}, errors.Join(errRange, r.Body.Close())
	}
	p.From, p.Size = begin, total
	return p, nil
}

// contentRange reads "bytes 5-9/10". A length that is unknown is none that could be compared.
func contentRange(text string) (begin, total int64, ok bool) {
	rest, isBytes := strings.CutPrefix(text, "bytes ")
	span, length, _ := strings.Cut(rest, "/")
	first, _, _ := strings.Cut(span, "-")
	begin, err := strconv.ParseInt(first, 10, 64)
	total, errTotal := strconv.ParseInt(length, 10, 64)
	return begin, total, isBytes && err == nil && errTotal == nil
}
