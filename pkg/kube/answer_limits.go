package kube

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

// tooBusy returns an error if an answer requests a longer pause than the rest of the request's
// time, or nil. Without it client-go would sleep until the time is over, and the caller would see
// only a timeout.
func tooBusy(answer *http.Response, left time.Duration) error {
	seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
	busy := answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode >= http.StatusInternalServerError
	if err != nil || !busy || time.Duration(seconds)*time.Second < left {
		return nil
	}
	const most = 1 << 10
	said, _ := io.ReadAll(io.LimitReader(answer.Body, most)) // a part of the message suffices
	return apierrors.NewGenericServerResponse(answer.StatusCode, answer.Request.Method, schema.GroupResource{}, "",
		string(said), seconds, false)
}

// tooLarge reports whether an answer was larger than [maxAnswer].
func tooLarge(err error) bool {
	var cut *http.MaxBytesError
	return errors.As(err, &cut)
}
