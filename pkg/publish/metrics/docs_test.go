package metrics

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

var (
	rowOfMetric = regexp.MustCompile("(?m)^\\| `(netwright_[a-z_]+)` \\|")
	rowOfAlert  = regexp.MustCompile("(?m)^\\| (?:<a id=\"[a-z]+\"></a>)?`(Netwright[A-Za-z]+)` \\|")
	nameOfAlert = regexp.MustCompile(`(?m)^  - alert: (\w+)$`)
	nameInAlert = regexp.MustCompile(`\b(netwright_[a-z_]+?)(?:_bucket|_sum|_count)?\b`)
	helpOf      = regexp.MustCompile(`(?m)^# HELP (netwright_[a-z_]+) `)
)

// The page has each metric and each alert. The alerts use no metric that does not exist. A metric
// to which full gives no value would be missing here and in testdata.
func TestPages(t *testing.T) {
	m := New("v1", requests)
	m.Observe(full(), nil)
	for _, f := range m.families() {
		if len(f.lines) == 0 {
			t.Errorf("%s has no value: give it one in full", f.name)
		}
	}
	shown := names(helpOf, scrape(t, m))
	page, alerts := read(t, "../../../docs/metrics.md"), read(t, "../../../docs/alerts.yaml")
	same(t, "metrics", shown, names(rowOfMetric, page))
	same(t, "alerts", names(nameOfAlert, alerts), names(rowOfAlert, page))
	for _, name := range names(nameInAlert, alerts) {
		if !slices.Contains(shown, name) {
			t.Errorf("an alert asks for %s, which is not shown", name)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// names returns the first groups of all matches, sorted, each once.
func names(pattern *regexp.Regexp, text string) []string {
	var out []string
	for _, match := range pattern.FindAllStringSubmatch(text, -1) {
		out = append(out, match[1])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func same(t *testing.T, what string, there, told []string) {
	t.Helper()
	for _, name := range there {
		if !slices.Contains(told, name) {
			t.Errorf("docs/metrics.md does not tell of %s %s", what, name)
		}
	}
	for _, name := range told {
		if !slices.Contains(there, name) {
			t.Errorf("docs/metrics.md tells of %s %s, which is not there", what, name)
		}
	}
}
