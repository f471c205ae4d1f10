package e2e

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/publish/metrics"
	"github.com/netwright/netwright/test/node"
)

// The metrics say what was done to the node and what the agent did. A person changes three keys,
// and each counts as one repair of its kind.
func TestMetricsCountDriftAndRepair(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	n := node.NewFabric(t).Node(t, options(t, bridgeStore(t), "node-1", "10.77.0.11", node.Options{
		Enable: []string{"netwright-agent.service"},
		Files:  map[string]string{"/etc/netwright/agent.yaml": "store: /srv/netwright\ncluster: " + cluster + "\nnode: node-1\ninterval: 5s\n"},
	}))
	checkBridgeNode(t, n)
	if heard := n.Must(ctx, "ss", "-Hltn", "sport", "=", ":19870"); !strings.Contains(heard, "127.0.0.1:19870") || strings.Count(heard, "\n") != 1 {
		t.Errorf("metrics are served elsewhere than on loopback: %s", heard)
	}
	for scrape(t, n)[`netwright_last_pass_timestamp_seconds`] == 0 {
		time.Sleep(100 * time.Millisecond)
	}
	before := scrape(t, n)
	p := plan(ctx, t, n, 0)
	for name, want := range map[string]float64{
		`netwright_node_state{state="converged"}`: 1,
		`netwright_prepared`:                      1,
		`netwright_node_info{cluster="` + cluster + `",network="bridge",node="node-1",node_group="nodes"}`: 1,
		`netwright_configuration_generation`: float64(p.Generation),
		`netwright_configuration_error`:      0,
		`netwright_last_pass_failed`:         0,
		`netwright_paused`:                   0,
	} {
		if got, there := before[name]; !there || got != want {
			t.Errorf("%s is %v (%v), want %v", name, got, there, want)
		}
	}
	tasks := 0.0
	for name, value := range before {
		if strings.HasPrefix(name, "netwright_tasks{") {
			tasks += value
		}
	}
	if tasks != float64(p.Summary.Tasks) {
		t.Errorf("the states of tasks add up to %v, a dry run knows %d", tasks, p.Summary.Tasks)
	}
	if rss := before["process_resident_memory_bytes"]; rss < 1<<20 || rss > 200<<20 {
		t.Errorf("the process has %v bytes", rss)
	}

	const conf = "/etc/modules-load.d/netwright.conf"
	wanted := n.Read(conf)
	drifts := []struct {
		kind, change, look, right string
	}{
		{"sysctl", "sysctl -qw net.ipv4.ip_forward=0", "sysctl -n net.ipv4.ip_forward", "1"},
		{"route", "ip route del 10.244.2.0/24", "ip route show 10.244.2.0/24 | wc -l", "1"},
		{"file", "echo other > " + conf, "cat " + conf, strings.TrimSpace(wanted)},
	}
	for i, d := range drifts {
		n.Shell(ctx, d.change)
		for strings.TrimSpace(n.Shell(ctx, d.look)) != d.right {
			time.Sleep(100 * time.Millisecond)
		}
		for scrape(t, n)[`netwright_events_total{event="repaired"}`] < before[`netwright_events_total{event="repaired"}`]+float64(i+1) {
			time.Sleep(100 * time.Millisecond)
		}
	}
	after := scrape(t, n)
	for name, was := range before {
		want := was
		switch kind := strings.TrimSuffix(strings.TrimPrefix(name, `netwright_repairs_total{kind="`), `"}`); {
		case kind == "sysctl" || kind == "route" || kind == "file":
			want++
		case name == `netwright_events_total{event="repaired"}`:
			want += float64(len(drifts))
		case !strings.HasPrefix(name, "netwright_repairs_total") && !strings.HasPrefix(name, "netwright_changes_total") && !strings.HasPrefix(name, "netwright_events_total"):
			continue
		}
		if after[name] != want {
			t.Errorf("%s is %v, want %v", name, after[name], want)
		}
	}
	for _, d := range drifts {
		name := `netwright_drift_total{kind="` + d.kind + `"}`
		if after[name] != before[name]+1 {
			t.Errorf("%s went from %v to %v for one change by hand", name, before[name], after[name])
		}
	}
	if after["netwright_passes_total{result=\"ok\"}"] <= before["netwright_passes_total{result=\"ok\"}"] || after["netwright_passes_total{result=\"failed\"}"] != 0 {
		t.Errorf("passes: %v ok, %v failed", after["netwright_passes_total{result=\"ok\"}"], after["netwright_passes_total{result=\"failed\"}"])
	}
	n.Must(ctx, "systemctl", "stop", "netwright-agent")
	if left := n.Must(ctx, "ss", "-Hltn", "sport", "=", ":19870"); left != "" {
		t.Errorf("the agent has stopped, and the port is taken: %s", left)
	}
}

// scrape returns what the metrics server on the node's loopback answers to a request as Prometheus
// makes it: values by name and labels.
func scrape(t *testing.T, n *node.Node) map[string]float64 {
	t.Helper()
	var text string
	err := n.Do(func() error {
		conn, err := new(net.Dialer).DialContext(context.Background(), "tcp", metrics.DefaultAddress) // on this thread, which is in the node's network
		if err != nil {
			return err
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "GET /metrics HTTP/1.0\r\nHost: node\r\n\r\n"); err != nil {
			return err
		}
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		text = string(body)
		return err
	})
	if err != nil {
		t.Fatalf("scraping %s: %v", n.Name(), err)
	}
	values := map[string]float64{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		space := strings.LastIndexByte(line, ' ')
		number, err := strconv.ParseFloat(line[space+1:], 64)
		if err != nil {
			t.Fatalf("%q is no metric", line)
		}
		values[line[:max(space, 0)]] = number
	}
	return values
}
