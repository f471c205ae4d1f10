package bench

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sample is one run of one contender.
type sample struct {
	Scenario  string
	Contender string
	Round     int
	Wall      time.Duration `json:"wall"`
	User      time.Duration `json:"user"`
	System    time.Duration `json:"system"`
	Others    time.Duration `json:"others"` // processor time of all other work meanwhile
	Peak      int64         `json:"peak"`   // KiB
	Code      int           `json:"code"`
	Quiet     bool          // the machine had no other work just before
	Wrong     string        // the judge's findings, "" if the node has converged
}

func (s sample) cpu() time.Duration { return s.User + s.System }

const runLog = home + "/run.log"

// measure runs a command on the node.
func (m *machine) measure(ctx context.Context, command ...string) sample {
	m.t.Helper()
	quiet := awaitQuiet(ctx, *patience)
	out := m.Must(ctx, home+"/launch", append([]string{runLog}, command...)...)
	s := sample{Quiet: quiet}
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		m.t.Fatalf("reading what %s cost: %v: %s", command[0], err, out)
	}
	return s
}

// said returns the end of the last command's output.
func (m *machine) said() string {
	log, _ := os.ReadFile(filepath.Join(m.Root(), runLog))
	return string(log[max(0, len(log)-1500):])
}

// judge compares the whole node with the job, byte for byte, by a program that is not the agent.
func (m *machine) judge(ctx context.Context) string {
	m.t.Helper()
	r := m.Run(ctx, home+"/limit", "check", "-verify", home+"/manifest")
	if r.Code == 0 {
		return ""
	}
	return strings.TrimSpace(r.Stderr[:min(len(r.Stderr), 300)])
}

// awaitQuiet waits until most of the machine is idle, for at most this time, and returns whether it
// was.
func awaitQuiet(ctx context.Context, patience time.Duration) bool {
	for end := time.Now().Add(patience); time.Now().Before(end) && ctx.Err() == nil; {
		idle, all := processors()
		time.Sleep(300 * time.Millisecond)
		idleNow, allNow := processors()
		if float64(idleNow-idle) > 0.9*float64(allNow-all) {
			return true
		}
	}
	return false
}

// processors returns the idle ticks of the processors, and all their ticks.
func processors() (idle, all int64) {
	stat, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(stat), "\n")
	for i, field := range strings.Fields(line)[1:] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil || i >= 8 {
			continue
		}
		all += n
		if i == 3 || i == 4 {
			idle += n
		}
	}
	return idle, all
}

func load() string {
	line, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(line))[:3], " ")
}

// median returns the median of f over the samples.
func median[T int64 | time.Duration](samples []sample, f func(sample) T) T {
	values := make([]T, 0, len(samples))
	for _, s := range samples {
		values = append(values, f(s))
	}
	slices.Sort(values)
	if len(values) == 0 {
		return 0
	}
	middle := len(values) / 2
	if len(values)%2 == 1 {
		return values[middle]
	}
	return T(math.Round((float64(values[middle-1]) + float64(values[middle])) / 2))
}
