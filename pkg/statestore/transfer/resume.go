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

// Part is an object from some byte on.
type Part struct {
	Body io.ReadCloser
	From int64  // first byte of Body: the one that was requested, or 0 if the server sends the whole object
	Size int64  // of the whole object; -1 if unknown
	ETag string // of the object; "" if the server sends none
}

// resumes is how often a download is resumed. Each time some bytes must have come since the last
// time. If the server became too slow, more than [lively] bytes must have come. A server that is
// slow from the start is left for the next URL or the next attempt.
const (
	resumes = 5
	lively  = 1 << 20
)

// Resume opens an object, and requests the rest of the same object if its body breaks off. It calls
// open with the byte to begin with and the ETag that the object must have. The first call has 0 and
// "". If the object cannot be resumed, Read returns the error of the last body.
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
	last int64 // value of at when it was last resumed
	used int
}

// Read implements [io.Reader].
func (r *resuming) Read(p []byte) (int, error) {
	n, err := r.part.Body.Read(p)
	r.at += int64(n)
	if err == io.EOF && r.part.Size >= 0 && r.at < r.part.Size {
		err = graph.Transient(fmt.Errorf("the answer ended after %d of %d bytes: look at the server and the "+
			"proxy", r.at,
			r.part.Size))
	}
	if err == nil || err == io.EOF || !graph.IsTransient(err) || !r.again(err) {
		return n, err
	}
	return n, nil
}

// again resumes the download after the error broken. It returns false if that is not possible, and
// Read then returns broken.
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
		next.Body.Close() // the object changed, or the server sends it from the start
		return false
	}
	r.part.Body.Close()
	r.part.Body = next.Body
	return true
}

// Close implements [io.Closer].
func (r *resuming) Close() error { return r.part.Body.Close() }

// Range returns the header that requests an object from a byte on if it still has this ETag.
// https://www.rfc-editor.org/rfc/rfc9110#section-13.1.5
func Range(from int64, etag string) http.Header {
	header := http.Header{}
	if from > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-", from))
		header.Set("If-Range", etag)
	}
	return header
}

var errRange = errors.New("the server sends another range than requested: look at the server and the proxy")

// PartOf returns the Part in a response of status 200 or 206 to a request from a byte on.
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

// contentRange parses "bytes 5-9/10". It refuses an unknown total, because the caller has to
// compare it.
func contentRange(text string) (begin, total int64, ok bool) {
	rest, isBytes := strings.CutPrefix(text, "bytes ")
	span, length, _ := strings.Cut(rest, "/")
	first, _, _ := strings.Cut(span, "-")
	begin, err := strconv.ParseInt(first, 10, 64)
	total, errTotal := strconv.ParseInt(length, 10, 64)
	return begin, total, isBytes && err == nil && errTotal == nil
}
