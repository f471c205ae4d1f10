package metrics

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/test/clock"
)

// A scrape has when something was by the clock as it is now, also where somebody set the clock
// since. The line that keeps it: metric_list.go, at.
func TestTimesWhereTheClockIsSet(t *testing.T) {
	noted := clock.NotedBefore(time.Now(), 50*365*24*time.Hour)
	var all families
	all.ofConfiguration(&report.Status{Configuration: report.Configuration{Checked: noted}})
	for _, f := range all {
		if f.name != prefix+"configuration_known_timestamp_seconds" {
			continue
		}
		_, value, _ := strings.Cut(strings.TrimSpace(f.lines[0]), " ")
		if at, err := strconv.ParseFloat(value, 64); err != nil || time.Since(time.Unix(int64(at), 0)).Abs() > time.Minute {
			t.Errorf("it is known since %s", value)
		}
		return
	}
	t.Error("there is no such metric")
}
