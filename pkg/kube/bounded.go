package kube

import (
	"errors"
	"net/http"
)

// maxAnswer is how large an answer may be, in bytes. The largest object that etcd takes has 1.5
// MiB, and a Node that says much of itself some 50 KiB.
const maxAnswer = 8 << 20

// bounded ends every answer that is larger than [maxAnswer]. A watch has no end; client-go bounds
// each of its events.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(request)
	if err == nil && !request.URL.Query().Has("watch") {
		answer.Body = http.MaxBytesReader(nil, answer.Body, maxAnswer)
	}
	return answer, err
}

// tooLarge says that an answer was cut off for its size.
func tooLarge(err error) bool {
	var cut *http.MaxBytesError
	return errors.As(err, &cut)
}
