package s3_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/publisher"
	"github.com/netwright/netwright/pkg/statestore/s3"
	"github.com/netwright/netwright/pkg/statestore/stores"
	"github.com/netwright/netwright/test/s3server"
	"github.com/netwright/netwright/test/storetest"
	"github.com/netwright/netwright/test/toxic"
)

// The test uses a real server. Replaced objects are removed when they are old enough by the
// server's clock, and nothing else of the bucket is.
func TestPrune(t *testing.T) {
	server := s3server.Start(t)
	server.Bucket("fleet")
	account(t, server.URL, s3server.Access, s3server.Secret)
	const location = "s3://fleet/some/prefix"
	other := "some/prefix/" + storetest.Cluster + ".org/objects/sha256/" + strings.Repeat("0", 64)
	server.Put("fleet", other, []byte("another cluster's"))
	for i := range 3 {
		if _, err := publisher.Publish(t.Context(), sink(t, location), storetest.Contents(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Unix(1, 0) // this machine's clock does not count
	prune := func(older time.Duration, dry bool) *publisher.Pruned {
		t.Helper()
		done, err := publisher.Prune(t.Context(), sink(t, location), publisher.Pruning{Cluster: storetest.Cluster, Older: older, DryRun: dry, By: "somebody", Now: past})
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	if done := prune(time.Hour, false); len(done.Objects) > 0 || done.Oldest != 1 || done.Retained != 13 {
		t.Errorf("what was just replaced: %+v", done)
	}
	// The server's times have full seconds, so an object that was put in the second of the prune is
	// not older than the prune.
	if done := prune(-time.Minute, false); len(done.Objects) != 8 || len(done.Generations) != 2 || done.Retained != 5 {
		t.Errorf("prune returns %+v", done)
	}
	if done := prune(-time.Minute, false); len(done.Objects) > 0 || len(done.Generations) > 0 {
		t.Errorf("again: %+v", done)
	}
	s := open(t, location, storetest.Cluster, stores.Options{})
	if got, err := s.Fetch(t.Context(), statestore.Revision{}); err != nil || got.Generation != 3 {
		t.Errorf("Fetch returns %+v, %v", got, err)
	}
	if list(t, server, "fleet", other) != 1 {
		t.Error("another cluster's object is gone")
	}
}

// list counts the objects below a prefix, as the server itself lists them.
func list(t *testing.T, server *s3server.Server, bucket, prefix string) int {
	t.Helper()
	out, err := server.Client().ListObjectsV2(t.Context(), &awss3.ListObjectsV2Input{Bucket: &bucket, Prefix: &prefix})
	if err != nil {
		t.Fatal(err)
	}
	return len(out.Contents)
}

// A list has several pages.
func TestList(t *testing.T) {
	const page = `<ListBucketResult><IsTruncated>%t</IsTruncated><NextContinuationToken>%s</NextContinuationToken>` +
		`<Contents><Key>p/%s/objects/%s</Key><LastModified>2026-01-02T03:04:05.000Z</LastModified><Size>7</Size></Contents></ListBucketResult>`
	server := toxic.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := r.URL.Query().Get("continuation-token")
		fmt.Fprintf(w, page, at != "2", map[string]string{"": "1", "1": "2"}[at], storetest.Cluster, "o"+at)
	}), nil)
	account(t, server.URL, "a", "b")
	from, err := s3.New(&url.URL{Scheme: "s3", Host: "fleet", Path: "/p"}, storetest.Cluster, trust(t, server).HTTPS.CA)
	if err != nil {
		t.Fatal(err)
	}
	var got []objectstore.Listed
	if err := from.List(t.Context(), "objects/", func(o objectstore.Listed) error { got = append(got, o); return nil }); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if want := []objectstore.Listed{{Name: "objects/o", Size: 7, Put: at}, {Name: "objects/o1", Size: 7, Put: at}, {Name: "objects/o2", Size: 7, Put: at}}; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// A list that is cut short, and names no next page or one that it already had, is an error.
// Otherwise it would never end, or objects would count as absent.
//
// The line that keeps it: list.go List.
func TestListThatDoesNotGoOn(t *testing.T) {
	for name, next := range map[string]map[string]string{ // by the token of the request
		"no token":         {},
		"an empty one":     {"": "<NextContinuationToken></NextContinuationToken>"},
		"the same again":   {"": "<NextContinuationToken>1</NextContinuationToken>", "1": "<NextContinuationToken>1</NextContinuationToken>"},
		"one of before":    {"": "<NextContinuationToken>1</NextContinuationToken>", "1": "<NextContinuationToken>2</NextContinuationToken>", "2": "<NextContinuationToken>1</NextContinuationToken>"},
		"none at the last": {"": "<NextContinuationToken>1</NextContinuationToken>"},
	} {
		server := toxic.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "<ListBucketResult><IsTruncated>true</IsTruncated>%s</ListBucketResult>", next[r.URL.Query().Get("continuation-token")])
		}), nil)
		account(t, server.URL, "a", "b")
		from, err := s3.New(&url.URL{Scheme: "s3", Host: "fleet"}, storetest.Cluster, trust(t, server).HTTPS.CA)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		err = from.List(ctx, "generations/", func(objectstore.Listed) error { return nil })
		cancel()
		if err == nil || graph.IsTransient(err) || !strings.Contains(err.Error(), "list generations/: the server says that more objects follow, but sends no NextContinuationToken") {
			t.Errorf("%s: List returns %v", name, err)
		}
	}
}

// Publications and a prune run at once. Two prunes at once are tested with a store whose compare
// and swap is one step: this server compares before it writes, and AWS' server does both at once.
func TestPruneBesidePublishers(t *testing.T) {
	server := s3server.Start(t)
	server.Bucket("fleet")
	account(t, server.URL, s3server.Access, s3server.Secret)
	storetest.PruneConcurrently(t, 20, 1, func() objectstore.Destination { return sink(t, "s3://fleet") },
		func() statestore.Store { return open(t, "s3://fleet", storetest.Cluster, stores.Options{}) })
}

// Without a permission nothing is removed. The error names the permission, and publishers do not
// wait for ever.
func TestPruneNamesThePermission(t *testing.T) {
	server := s3server.Start(t)
	server.Bucket("fleet")
	account(t, server.URL, s3server.Access, s3server.Secret)
	for i := range 2 {
		if _, err := publisher.Publish(t.Context(), sink(t, "s3://fleet"), storetest.Contents(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	between := counted(t, server)
	account(t, between.URL, s3server.Access, s3server.Secret)
	to, err := s3.New(&url.URL{Scheme: "s3", Host: "fleet"}, storetest.Cluster, trust(t, between).HTTPS.CA)
	if err != nil {
		t.Fatal(err)
	}
	prune := func() (*publisher.Pruned, error) {
		return publisher.Prune(t.Context(), to, publisher.Pruning{Cluster: storetest.Cluster, Older: -time.Minute, By: "somebody", Now: time.Now()})
	}
	for _, c := range []struct {
		denies func(r *http.Request) bool
		want   string
	}{
		{func(r *http.Request) bool { return r.URL.Query().Has("list-type") }, "allow s3:ListBucket on arn:aws:s3:::fleet"},
		{func(r *http.Request) bool { return r.Method == http.MethodDelete }, "allow s3:DeleteObject on arn:aws:s3:::fleet/" + storetest.Cluster + "/*"},
	} {
		between.Fail(func(w http.ResponseWriter, r *http.Request, honest http.Handler) {
			if c.denies(r) {
				toxic.S3(403, "AccessDenied", "Access Denied")(w, r, honest)
				return
			}
			honest.ServeHTTP(w, r)
		})
		if _, err := prune(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %q", err, c.want)
		}
		if n := list(t, server, "fleet", storetest.Cluster+"/objects/"); n != 9 {
			t.Errorf("%d objects are left", n)
		}
	}
	between.Fail(nil)
	if _, err := publisher.Publish(t.Context(), to, storetest.Contents("next")); err != nil {
		t.Errorf("a publisher afterwards: %v", err)
	}
	if done, err := prune(); err != nil || len(done.Objects) != 8 {
		t.Errorf("with both: %+v, %v", done, err)
	}
}
