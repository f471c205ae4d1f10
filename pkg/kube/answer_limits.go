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

// maxAnswer is how large an answer may be, in bytes. The largest object that etcd takes has 1.5
// MiB, and a Node that says much of itself some 50 KiB.
const maxAnswer = 8 << 20

// bounded ends every answer that is larger than [maxAnswer]. A watch has no end; client-go bounds
// each of its events.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(request)
	if err != nil || request.URL.Query().Has("watch") {
		return answer, err
	}
	answer.Body = http.MaxBytesReader(nil, answer.Body, maxAnswer)
	if end, ends := request.Context().Deadline(); ends {
		if err := tooBusy(answer, time.Until(end)); err != nil {
			answer.Body.Close() // all of it that counts is read
			return nil, err
		}
	}
	return answer, nil
}

// tooBusy is the error of an answer that asks to be left alone for longer than its request has
// left; nil: it does not. Client-go would sleep for the rest of that time, and all that were known
// then is that it is over.
func tooBusy(answer *http.Response, left time.Duration) error {
	seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
	busy := answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode >= http.StatusInternalServerError
	if err != nil || !busy || time.Duration(seconds)*time.Second < left {
		return nil
	}
	const most = 1 << 10
	said, _ := io.ReadAll(io.LimitReader(answer.Body, most)) // some of it may do
	return apierrors.NewGenericServerResponse(answer.StatusCode, answer.Request.Method, schema.GroupResource{}, "",
		string(said), seconds, false)
}

// tooLarge says that an answer was cut off for its size.
func tooLarge(err error) bool {
	var cut *http.MaxBytesError
	return errors.As(err, &cut)
}
