package alerts

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

const (
	file  = "../../docs/alerts.yaml"
	every = time.Minute // between two values of a series
	steps = 50          // evaluations, the last at the wanted time
)

// evaluate returns the alerts that fire at a time after the series began, by name and instance,
// with their texts. It does what `promtool test rules` does.
func evaluate(t *testing.T, series string, at time.Duration) map[string]string {
	t.Helper()
	loader, err := promqltest.NewLazyLoader("load 1m\n"+indented(series), promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true})
	if err != nil {
		t.Fatalf("%v in\n%s", err, series)
	}
	defer loader.Close()
	groups := load(t, &rules.ManagerOptions{QueryFunc: rules.EngineQueryFunc(loader.QueryEngine(), loader.Storage()), Appendable: loader.Storage()})
	start := time.Unix(0, 0).UTC()
	for step := range steps + 1 {
		now := start.Add(at / steps * time.Duration(step)).Truncate(every)
		loader.WithSamplesTill(now, func(err error) {
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range groups {
				g.Eval(t.Context(), now)
			}
		})
	}
	firing := map[string]string{}
	for _, g := range groups {
		for _, alert := range g.AlertingRules() {
			if alert.LastError() != nil {
				t.Errorf("%s: alert.LastError() is %v", alert.Name(), alert.LastError())
			}
			for _, a := range alert.ActiveAlerts() {
				if a.State == rules.StateFiring {
					firing[alert.Name()+" "+a.Labels.Get("instance")] = a.Annotations.Get("summary") + "\n" + a.Annotations.Get("description")
				}
			}
		}
	}
	return firing
}

// load reads the file of rules as a server does.
func load(t *testing.T, o *rules.ManagerOptions) map[string]*rules.Group {
	t.Helper()
	o.Context, o.Logger, o.Parser = t.Context(), promslog.NewNopLogger(), parser.NewParser(parser.Options{})
	o.NotifyFunc = func(context.Context, string, ...*rules.Alert) {}
	groups, errs := rules.NewManager(o).LoadGroups(every, labels.EmptyLabels(), "http://prometheus.test", nil, false, file)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return groups
}

// runbooks is the page with the advice for each alert. The alert's name comes at its end.
const runbooks = "https://github.com/netwright/netwright/blob/main/docs/metrics.md#"

// names returns the names of all alerts.
func names(t *testing.T) (all []string) {
	t.Helper()
	raw, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	for _, g := range load(t, &rules.ManagerOptions{}) {
		for _, alert := range g.AlertingRules() {
			all = append(all, alert.Name())
			if alert.Labels().Get("severity") == "" || alert.Annotations().Get("summary") == "" || alert.Annotations().Get("description") == "" {
				t.Errorf("%s has no severity, summary or description", alert.Name())
			}
			section := strings.ToLower(alert.Name())
			if url := alert.Annotations().Get("runbook_url"); url != runbooks+section || strings.Count(page, `<a id="`+section+`"></a>`) != 1 {
				t.Errorf("%s: its runbook_url is %q, want %s, and docs/metrics.md must have that place once", alert.Name(), url, runbooks+section)
			}
		}
	}
	return all
}

// indented indents each line as promtool's load needs it.
func indented(series string) string {
	var out strings.Builder
	for line := range strings.Lines(series) {
		out.WriteString("  " + strings.TrimSpace(line) + "\n")
	}
	return out.String()
}

// fleet returns the series of a cluster in which some nodes fail.
func fleet(nodes, failing int) string {
	var out strings.Builder
	for i := range nodes {
		state := 0
		if i < failing {
			state = 1
		}
		fmt.Fprintf(&out, "netwright_node_info{instance=\"node-%d\", cluster=\"demo\"} 1x20\nnetwright_tasks{instance=\"node-%d\", kind=\"file\", state=\"failing\"} %dx20\n", i, i, state)
	}
	return out.String()
}

// storeless returns the series of a cluster in which some nodes cannot use their store, and some of
// these do not trust it. They have not used it for long, and their requests fail.
func storeless(nodes, failing, untrusted int) string {
	var out strings.Builder
	is := map[bool]int{true: 1}
	for i := range nodes {
		on := fmt.Sprintf("{instance=\"node-%d\"}", i)
		fmt.Fprintf(&out, "netwright_node_info{instance=\"node-%d\", cluster=\"demo\"} 1x200\nnetwright_configuration_error%s %dx200\nnetwright_store_silent%s %dx200\nnetwright_configuration_untrusted%s %dx200\n",
			i, on, is[i < failing], on, is[i < failing && i >= untrusted], on, is[i < untrusted])
		fmt.Fprintf(&out, "netwright_configuration_known_timestamp_seconds%s %s\nnetwright_store_requests_total{instance=\"node-%d\", outcome=\"failed\"} 0+%dx200\n", on, map[bool]string{true: "60x200", false: "60+60x200"}[i < failing], i, is[i < failing])
	}
	return out.String()
}

// passes returns series with this many short and long passes each minute.
func passes(short, long int) string {
	const bucket = `netwright_pass_duration_seconds_bucket{instance="node-1", le=`
	return fmt.Sprintf("%s\"1\"} 0+%dx200\n%s\"60\"} 0+%dx200\n%s\"300\"} 0+%dx200\n%s\"+Inf\"} 0+%dx200\n", bucket, short, bucket, short, bucket, short+long, bucket, short+long)
}

// generations returns the generations of two nodes of a cluster.
func generations(one, two int) string {
	return fmt.Sprintf(`netwright_node_info{instance="node-1", cluster="demo"} 1x2000
		netwright_node_info{instance="node-2", cluster="demo"} 1x2000
		netwright_configuration_applied_generation{instance="node-1"} %dx2000
		netwright_configuration_applied_generation{instance="node-2"} %dx2000`, one, two)
}

// requests returns requests with one outcome, and requests that read something.
func requests(outcome, those, read string) string {
	return fmt.Sprintf("netwright_store_requests_total{instance=\"node-1\", outcome=%q} %s\nnetwright_store_requests_total{instance=\"node-1\", outcome=\"read\"} %s\n", outcome, those, read)
}
