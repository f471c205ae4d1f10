package metrics

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/VictoriaMetrics/metrics"
)

// family is a metric as a scrape shows it: its description, and one line for each value.
type family struct {
	name, help string
	kind       kind
	labels     []string
	lines      []string
}

// put adds a value with the values of its labels.
func (f *family) put(value float64, values ...string) {
	f.lines = append(f.lines, series(f.name, f.labels, values...)+" "+strconv.FormatFloat(value, 'g', -1, 64)+"\n")
}

// series returns the name of a metric with its labels and their values, as a scrape shows it.
func series(name string, labels []string, values ...string) string {
	if len(labels) == 0 {
		return name
	}
	pairs := make([]string, len(labels))
	for i, label := range labels {
		pairs[i] = label + `="` + escaped(values[i]) + `"`
	}
	slices.Sort(pairs)
	return name + "{" + strings.Join(pairs, ",") + "}"
}

// writeTo writes the family. Prometheus refuses a page with the same series twice, so only one of
// them is written.
func (f *family) writeTo(page *bytes.Buffer) {
	if len(f.lines) == 0 {
		return
	}
	if f.kind != histogram { // the buckets of a histogram have their own order
		slices.Sort(f.lines)
	}
	fmt.Fprintf(page, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", f.name, f.help, f.kind)
	last := ""
	for _, line := range f.lines {
		name := line[:strings.LastIndexByte(line, ' ')]
		if name != last {
			page.WriteString(line)
		}
		last = name
	}
}

// escaped returns a value as it must be written between quotes.
// https://prometheus.io/docs/instrumenting/exposition_formats/#text-format-details
func escaped(value string) string {
	return quotes.Replace(strings.ToValidUTF8(value, "\uFFFD"))
}

// quotes is created once: it contains a table of 6 kB, and a page has a hundred values.
var quotes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// page returns the answer to a scrape: the agent's metrics by name, and those of its process.
func (m *Metrics) page() []byte {
	all := m.families()
	slices.SortFunc(all, func(a, b *family) int { return strings.Compare(a.name, b.name) })
	var page bytes.Buffer
	for _, f := range all {
		f.writeTo(&page)
	}
	metrics.WriteGoMetrics(&page)
	metrics.WriteProcMetrics(&page)
	return page.Bytes()
}

// families returns the agent's metrics, also those without a value now.
func (m *Metrics) families() (all families) {
	m.counted(&all)
	if s := m.now.Load(); s != nil {
		all.ofTasks(s)
		all.ofConfiguration(s)
		all.ofCertificates(s)
	}
	return all
}

// counted adds what is counted since the daemon began, and the requests to the store.
func (m *Metrics) counted(all *families) {
	all.gauge("build_info", "Always 1: which agent this is.", "goversion", "version").put(1, runtime.Version(), m.version)
	of := func(f *family, set *metrics.Set) {
		var values strings.Builder
		set.WritePrometheus(&values)
		f.lines = slices.Collect(strings.Lines(values.String()))
	}
	of(all.add("pass_duration_seconds", "How long passes took.", histogram), m.pass)
	of(all.add("pass_phase_duration_seconds", "How long the parts of passes took.", histogram), m.phases)
	of(all.counter("events_total", "What happened to keys and to the node, by what it was."), m.events)
	of(all.counter("drift_total", "Keys that somebody else changed, repaired or only reported."), m.drift)
	if m.requests == nil {
		return
	}
	outcomes, received := m.requests()
	asked := all.counter("store_requests_total", "Requests to the store by how they ended.", "outcome")
	for outcome, n := range outcomes {
		asked.put(float64(n), outcome)
	}
	all.counter("store_received_bytes_total", "Bytes of objects that came from the store.").put(float64(received))
}
