package kube

import (
	"errors"
	"net/http"
	"time"
)

// maxAnswer is the maximum size of an answer in bytes. The largest object in etcd has 1.5 MiB, and
// a big Node has some 50 KiB.
const maxAnswer = 8 << 20

// bounded ends the read of an answer that is larger than [maxAnswer]. It does not limit a watch,
// which has no end: client-go limits each of its events.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(request)
	if err != nil || request.URL.Query().Has("watch") {
		return answer, err
	}
	answer.Body = http.MaxBytesReader(nil, answer.Body, maxAnswer)
	if end, ends := request.Context().Deadline(); ends {
		if err := tooBusy(answer, time.Until(end)); err != nil {
			answer.Body.Close() // tooBusy has read what it needs
			return nil, err
		}
	}
	return answer, nil
}

// tooLarge reports whether an answer was larger than [maxAnswer].
func tooLarge(err error) bool {
	var cut *http.MaxBytesError
	return errors.As(err, &cut)
}
