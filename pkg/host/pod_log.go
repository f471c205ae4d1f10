package host

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// PodLog is what a container runtime's log says of pods: how many it made and took away, and how it failed.
type PodLog struct {
	Made, Removed, Failed int
	// LastFailed says that no pod was made after the last failure, of which Failure are the words.
	LastFailed bool
	FailedAt   time.Time
	Failure    string
}

// What containerd (internal/cri/server/sandbox_run.go, sandbox_stop.go, instrument/service.go) and CRI-O (server/sandbox_run_linux.go,
// sandbox_stop_linux.go) log.
var (
	podMade    = regexp.MustCompile(`RunPodSandbox for .* returns sandbox id|Ran pod sandbox [0-9a-f]+ with infra container`)
	podRemoved = regexp.MustCompile(`RemovePodSandbox .* returns successfully|Removed pod sandbox: `)
	podFailed  = regexp.MustCompile(`RunPodSandbox for .* failed.*?(?:error="(.*)"|$)|(Error adding pod .* to CNI network .*)`)
)

// PodLog reads the end of the runtime's journal of this boot. It starts nothing and asks no service. An error says why there is none to read.
func (l *Live) PodLog(ctx context.Context) (PodLog, error) {
	out, err := l.run(ctx, command{path: "journalctl", timeout: 5 * time.Second, max: 8 << 20, args: []string{
		"--boot=0", "--no-pager", "--quiet", "--output=short-unix", "--lines=4000", "--unit=containerd.service", "--unit=crio.service"}})
	if err != nil {
		return PodLog{}, fmt.Errorf("read the runtime's log: %w", err)
	}
	return podLog(out), nil
}

func podLog(journal []byte) (log PodLog) {
	for line := range bytes.Lines(journal) {
		switch found := podFailed.FindSubmatch(line); {
		case podMade.Match(line):
			log.Made++
			log.LastFailed = false
		case podRemoved.Match(line):
			log.Removed++
		case found != nil:
			log.Failed++
			log.LastFailed, log.FailedAt = true, stampOf(line)
			log.Failure = strings.ReplaceAll(string(bytes.TrimSpace(append(found[1], found[2]...))), `\"`, `"`)
		}
	}
	return log
}

// stampOf is the moment at the beginning of a line, in seconds with a fraction.
func stampOf(line []byte) time.Time {
	word, _, _ := bytes.Cut(line, []byte(" "))
	seconds, err := strconv.ParseFloat(string(word), 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMicro(int64(seconds * 1e6))
}
