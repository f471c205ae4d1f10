package s3_test

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/publisher"
	"github.com/netwright/netwright/pkg/statestore/s3"
	"github.com/netwright/netwright/test/storetest"
	"github.com/netwright/netwright/test/toxic"
)

const match, none = "If-Match", "If-None-Match"

// served returns an empty bucket. Its server has a fault for a PUT with the header of a condition.
func served(t *testing.T, faults map[string]toxic.Fault) (*storetest.MapStore, objectstore.Destination) {
	t.Helper()
	memory := new(storetest.MapStore)
	server := toxic.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPut {
			bucket(memory).ServeHTTP(w, r)
			return
		}
		for header, fault := range faults {
			if r.Header.Get(header) != "" {
				fault(w, r, write(memory))
				return
			}
		}
		write(memory).ServeHTTP(w, r)
	}), nil)
	account(t, server.URL, "a", "b")
	to, err := s3.New(&url.URL{Scheme: "s3", Host: "b"}, storetest.Cluster, trust(t, server).HTTPS.CA)
	if err != nil {
		t.Fatal(err)
	}
	return memory, to
}

// write writes objects as S3 does.
func write(memory *storetest.MapStore) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		name, known := strings.TrimPrefix(r.URL.Path, "/b/"+storetest.Cluster+"/"), r.Header.Get(match)
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadRequest)
		case known == "" && r.Header.Get(none) == "":
			memory.Set(name, data)
		case memory.Replace(r.Context(), name, data, known) != nil:
			toxic.S3(http.StatusPreconditionFailed, "PreconditionFailed", "It did not hold.")(w, r, nil)
		}
	})
}

// ignores writes whatever the condition is.
func ignores(w http.ResponseWriter, r *http.Request, honest http.Handler) {
	r.Header.Del(match)
	r.Header.Del(none)
	honest.ServeHTTP(w, r)
}

// The agent refuses a server that would let two publishers win, before it changes the manifest,
// also with an empty bucket. It tests the condition that its write of the manifest uses.
//
// The lines that keep it: pkg/statestore/publisher/prune_lock.go prove; errors.go explain.
func TestConditionsIgnored(t *testing.T) {
	lacks := toxic.S3(http.StatusNotImplemented, "NotImplemented", "A header you provided implies functionality that is not implemented.")
	for name, c := range map[string]struct {
		faults    map[string]toxic.Fault
		published int // of the two
		want      string
	}{
		"as AWS":               {nil, 2, ""},
		"none":                 {map[string]toxic.Fault{match: ignores, none: ignores}, 0, "ignores conditional writes"},
		"If-None-Match alone":  {map[string]toxic.Fault{match: ignores}, 1, "ignores conditional writes"},
		"says so of each":      {map[string]toxic.Fault{match: lacks, none: lacks}, 0, "501 NotImplemented"},
		"says so of If-Match":  {map[string]toxic.Fault{match: lacks}, 1, "If-Match and If-None-Match of a PUT"},
		"If-Match is no S3":    {map[string]toxic.Fault{match: toxic.Status(400, 0)}, 1, "test whether the store supports conditional writes"},
		"If-Match is for busy": {map[string]toxic.Fault{match: toxic.Status(503, 0)}, 1, "test whether the store supports conditional writes"},
	} {
		memory, to := served(t, c.faults)
		published, before := 0, ""
		for _, content := range []string{"one", "two"} {
			now, _ := memory.Get(t.Context(), "manifest", "", 1<<20)
			before = string(now.Body)
			_, err := publisher.Publish(t.Context(), to, storetest.Contents(content))
			if err == nil {
				published++
				continue
			}
			if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "nothing has changed for its readers") || errors.Is(err, objectstore.ErrConflict) || strings.Contains(err.Error(), "\n") || graph.IsTransient(err) != strings.HasSuffix(name, "busy") {
				t.Errorf("%s: %v (transient %t); want %q", name, err, graph.IsTransient(err), c.want)
			}
			if now, _ := memory.Get(t.Context(), "manifest", "", 1<<20); string(now.Body) != before {
				t.Errorf("%s: the manifest was moved", name)
			}
			break
		}
		if published != c.published {
			t.Errorf("%s: %d were told of success, want %d", name, published, c.published)
		}
	}
}

// The status 409 or 412 for a write with a condition is a conflict, whatever the answer's text is.
//
// The lines that keep it: s3.go isConflict; destination.go put.
func TestConflictByStatus(t *testing.T) {
	for name, fault := range map[string]toxic.Fault{
		"AWS":          toxic.S3(409, "ConditionalRequestConflict", "Another one came."),
		"two at once":  toxic.S3(409, "OperationAborted", "A conflicting conditional operation is in progress."),
		"another code": toxic.S3(409, "ConcurrentModification", "Try again."),
		"a page of what stands before": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusPreconditionFailed)
			_, _ = io.WriteString(w, "<!DOCTYPE html><html><head><meta charset=utf-8></head><body>412<br></body></html>")
		},
		"nothing": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(http.StatusPreconditionFailed)
		},
	} {
		_, to := served(t, map[string]toxic.Fault{match: fault, none: fault})
		for _, known := range []string{"", `"1"`} {
			if err := to.Replace(t.Context(), "manifest", []byte("x"), known); !errors.Is(err, objectstore.ErrConflict) || graph.IsTransient(err) {
				t.Errorf("%s, on %q: %v", name, known, err)
			}
		}
	}
}

// A bucket that locks objects refuses a request without a checksum in its header.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-lock.html
func TestObjectLock(t *testing.T) {
	locks := func(w http.ResponseWriter, r *http.Request, honest http.Handler) {
		data, err := io.ReadAll(r.Body)
		sum := md5.Sum(data)
		switch given := r.Header.Get("Content-MD5"); {
		case err != nil || given == "":
			toxic.S3(http.StatusBadRequest, "InvalidRequest", "Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests with Object Lock parameters")(w, r, nil)
		case given != base64.StdEncoding.EncodeToString(sum[:]):
			toxic.S3(http.StatusBadRequest, "BadDigest", "The Content-MD5 you specified did not match what we received.")(w, r, nil)
		default:
			r.Body = io.NopCloser(bytes.NewReader(data))
			honest.ServeHTTP(w, r)
		}
	}
	_, to := served(t, map[string]toxic.Fault{match: locks, none: locks})
	for _, content := range []string{"one", "two"} {
		if _, err := publisher.Publish(t.Context(), to, storetest.Contents(content)); err != nil {
			t.Fatal(err)
		}
	}
}
