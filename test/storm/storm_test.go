// Package storm makes a fleet on this machine poll one real S3 server, which stops in the middle
// and starts again.
package storm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/daemon"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/manifest"
	"github.com/netwright/netwright/pkg/statestore/stores"
	"github.com/netwright/netwright/test/s3server"
	"github.com/netwright/netwright/test/storetest"
)

// bucket is the bucket that the fleet polls.
const bucket = "fleet"

// counter stands before the server and counts the requests. While it is down it refuses all of
// them.
type counter struct {
	to    http.Handler
	down  atomic.Bool
	begun time.Time

	mu       sync.Mutex
	requests int
	bytes    int64
	seconds  map[int]int // requests in each second of the storm
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	sent := &sent{ResponseWriter: w}
	if c.down.Load() {
		sent.WriteHeader(http.StatusServiceUnavailable)
	} else {
		c.to.ServeHTTP(sent, r)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
	c.bytes += sent.bytes
	c.seconds[int(time.Since(c.begun).Seconds())]++
}

// taken returns the counts since the last call.
func (c *counter) taken() (requests int, bytes int64, busiest int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.seconds {
		busiest = max(busiest, n)
	}
	requests, bytes = c.requests, c.bytes
	c.requests, c.bytes, c.seconds = 0, 0, map[int]int{}
	return requests, bytes, busiest
}

type sent struct {
	http.ResponseWriter
	bytes int64
}

func (s *sent) Write(p []byte) (int, error) {
	n, err := s.ResponseWriter.Write(p)
	s.bytes += int64(n)
	return n, err
}

// node polls as the daemon does, until ctx ends.
type node struct {
	store statestore.Store
	last  atomic.Int64 // the generation
	calls atomic.Int64
	bad   atomic.Int64 // errors in a row
}

func (n *node) live(ctx context.Context, interval time.Duration) {
	var last statestore.Revision
	failures := 0
	for ctx.Err() == nil {
		got, err := n.store.Fetch(ctx, last)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			last, failures = got.Revision, 0
			n.last.Store(got.Generation)
		case errors.Is(err, statestore.ErrNotModified):
			failures = 0
		default:
			failures++
		}
		n.bad.Store(int64(failures))
		n.calls.Add(1)
		t := time.NewTimer(daemon.Delay(interval, failures))
		select {
		case <-ctx.Done():
		case <-t.C:
		}
		t.Stop()
	}
}

// fleet returns the number of nodes and their interval. Without NETWRIGHT_STORM it is a small fleet
// with a short interval.
func fleet(t *testing.T) (nodes int, interval time.Duration) {
	text := os.Getenv("NETWRIGHT_STORM")
	if text == "" {
		return 40, 2 * time.Second
	}
	nodes, err := strconv.Atoi(text)
	if err != nil || nodes < 1 {
		t.Fatalf("NETWRIGHT_STORM is %q: write a number of nodes", text)
	}
	return nodes, 30 * time.Second
}

func TestStorm(t *testing.T) {
	count, interval := fleet(t)
	server := s3server.Start(t)
	server.Bucket(bucket)
	to, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	between := &counter{begun: time.Now(), seconds: map[int]int{}, to: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host // the signature includes it
	}}}
	front := httptest.NewServer(between)
	defer front.Close()
	for name, value := range map[string]string{
		"S3_ENDPOINT": front.URL, "S3_REGION": "us-east-1", "S3_ACCESS_KEY_ID": s3server.Access, "S3_SECRET_ACCESS_KEY": s3server.Secret,
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true", "NO_PROXY": "127.0.0.1",
	} {
		t.Setenv(name, value)
	}
	publish(t, server, 1, count)

	ctx, stop := context.WithCancel(t.Context())
	var living sync.WaitGroup
	defer living.Wait()
	defer stop()
	nodes := make([]*node, count)
	for i := range nodes {
		store, err := stores.Open("s3://"+bucket, storetest.Cluster, stores.Options{})
		if err != nil {
			t.Fatal(err)
		}
		nodes[i] = &node{store: store}
		living.Go(func() { nodes[i].live(ctx, interval) })
	}

	var report strings.Builder
	fmt.Fprintf(&report, "%d nodes, interval %s\n%-44s %9s %9s %12s %14s\n", count, interval, "phase", "requests", "a node", "bytes a node", "busiest second")
	phase := func(what string) (each float64) {
		requests, bytes, busiest := between.taken()
		each = float64(requests) / float64(count)
		fmt.Fprintf(&report, "%-44s %9d %9.2f %12.0f %14d\n", what, requests, each, float64(bytes)/float64(count), busiest)
		return each
	}
	await(t, nodes, "has the first generation", func(n *node) bool { return n.last.Load() == 1 })
	// Other requests: for the objects of a generation, and a request that is under way.
	polls := float64(total(nodes)) / float64(count)
	if each := phase("all boot at the same moment"); each > polls+2 {
		t.Errorf("%.2f requests a boot, for %.2f looks", each, polls)
	}
	calls := total(nodes)
	time.Sleep(2 * interval)
	polls = float64(total(nodes)-calls) / float64(count)
	if each := phase("two intervals without news"); each > polls+1 {
		t.Errorf("%.2f requests for %.2f polls", each, polls)
	}

	between.down.Store(true)
	await(t, nodes, "has seen the outage", func(n *node) bool { return n.bad.Load() > 0 })
	phase("the store goes away: until all have seen it")
	calls = total(nodes)
	time.Sleep(2 * interval)
	polls = float64(total(nodes)-calls) / float64(count)
	if each := phase("two intervals without it"); each > polls+1 { // one request in a look
		t.Errorf("%.2f requests for %.2f looks", each, polls)
	}
	calls = total(nodes)
	publish(t, server, 2, count)
	between.down.Store(false)
	await(t, nodes, "has the second generation", func(n *node) bool { return n.last.Load() == 2 })
	polls = float64(total(nodes)-calls) / float64(count)
	if each := phase("it is back, with news: until all have them"); each > polls+2 {
		t.Errorf("%.2f requests to come back, for %.2f looks", each, polls)
	}
	time.Sleep(interval)
	phase("an interval after that")
	fmt.Println(report.String())
}

func total(nodes []*node) (n int64) {
	for _, one := range nodes {
		n += one.calls.Load()
	}
	return n
}

// await waits until a condition is true of every node.
func await(t *testing.T, nodes []*node, what string, is func(*node) bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		missing := 0
		for _, n := range nodes {
			if !is(n) {
				missing++
			}
		}
		if missing == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d nodes: not one that %s", missing, len(nodes), what)
		}
	}
}

// publish publishes a generation with a document for each node. A node reads only the bundle of it,
// and the manifest comes last.
func publish(t *testing.T, server *s3server.Server, generation int64, nodes int) {
	t.Helper()
	objects := map[string][]byte{"cluster.yaml": fmt.Appendf(nil, "kind: Cluster # %d\n", generation)}
	for i := range nodes {
		objects[fmt.Sprintf("nodes/n%d.yaml", i)] = fmt.Appendf(nil, "kind: Node\nmetadata: {name: n%d}\nspec: {podCIDRs: [10.%d.%d.0/24]} # %d\n", i, i/256, i%256, generation)
	}
	all := storetest.Publication(generation, objects, true)
	m, err := manifest.Parse(all["manifest"], storetest.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	bundle := "objects/sha256/" + m.Bundle.SHA256
	server.Put(bucket, storetest.Cluster+"/"+bundle, all[bundle])
	server.Put(bucket, storetest.Cluster+"/manifest", all["manifest"])
}
