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

// maxRetryAfter is the longest pause that a server gets. A server that sheds load requests 32 s at
// most
// (https://github.com/kubernetes/apiserver/blob/v0.36.3/pkg/util/flowcontrol/dropped_requests_tracker.go#L29).
// A request for a day comes from a proxy with a wrong setting. After somebody corrects the proxy,
// the nodes must not pause for the rest of the day.
const maxRetryAfter = 5 * time.Minute

// busy is the error of a server that requests a pause.
type busy struct {
	error
	retryAfter time.Duration
}

// RetryAfter returns the pause that the server requested with this error, at most five minutes. It
// returns 0 if the server requested none.
func RetryAfter(err error) time.Duration {
	if b, ok := errors.AsType[*busy](err); ok {
		return b.retryAfter
	}
	return 0
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
