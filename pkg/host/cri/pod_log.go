package cri

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/lazyregexp"
)

// PodLog is what the log says about pods: how many the runtime created and removed, and its
// failures.
type PodLog struct {
	Made, Removed int // pods
	Failed        int // failed attempts to create or remove one
	// LastFailed means that no pod was created after the last failed creation, or none removed
	// after the last failed removal. If both are true, FailedAt and Failure are of the creation,
	// because its error has the message of the plugin.
	LastFailed bool
	FailedAt   time.Time
	Failure    string
}

// These expressions match lines about pods at the default log level. containerd logs the same from
// 1.6 to 2.x:
// https://github.com/containerd/containerd/blob/main/internal/cri/instrument/instrumented_service.go
// CRI-O logs that it created or removed a pod. Since 1.24, only kubelet, which made the request,
// logs a failure:
// https://github.com/cri-o/cri-o/blob/main/server/sandbox_run_linux.go
// https://github.com/cri-o/cri-o/blob/main/server/sandbox_stop_linux.go
// https://github.com/kubernetes/cri-client/blob/master/pkg/remote_runtime.go
var (
	podMade    = lazyregexp.New(`RunPodSandbox for .* returns sandbox id|Ran pod sandbox [0-9a-f]+ with infra container`)
	podRemoved = lazyregexp.New(`StopPodSandbox for \\?"([0-9a-f]+)\\?" returns successfully|Stopped pod sandbox: ([0-9a-f]+)`)
	podFailed  = lazyregexp.New(`(Run|Stop)PodSandbox (?:for .*|.*from runtime service) failed`)
	podWhy     = lazyregexp.New(`\b(?:error|err)="((?:[^"\\]|\\.)*)"`)
)

// podUnits are the units whose logs have these lines, by runtime.
var podUnits = map[string][]string{"containerd": {"containerd.service"}, "cri-o": {"crio.service", "kubelet.service"}}

// ReadPodLog reads the end of this boot's journal of a runtime, containerd or cri-o. It starts only
// journalctl, and asks no service. An error means that the journal cannot be read.
func ReadPodLog(ctx context.Context, runtime string) (PodLog, error) {
	units := podUnits[runtime]
	args := []string{"--boot=0", "--no-pager", "--quiet", "--output=short-unix", "--lines=" + strconv.Itoa(4000*len(units))}
	for _, unit := range units {
		args = append(args, "--unit="+unit)
	}
	out, err := sys.Run(ctx, sys.Command{Path: "journalctl", Timeout: 5 * time.Second, Max: 8 << 20, Args: args})
	if err != nil {
		return PodLog{}, fmt.Errorf("read the log of %s: %w", strings.Join(units, " and "), err)
	}
	return podLog(out), nil
}

// podLog reads lines in the order in which they were logged. Their stamps do not tell that order
// where somebody set the clock.
func podLog(journal []byte) (log PodLog) {
	removed := map[string]bool{} // kubelet stops a pod more than once
	ill := map[string]PodLog{}   // what was not done since
	for line := range bytes.Lines(journal) {
		if podMade().Match(line) {
			log.Made++
			delete(ill, "Run")
		} else if found := podRemoved().FindSubmatch(line); found != nil {
			removed[string(found[1])+string(found[2])] = true
			delete(ill, "Stop")
		} else if found := podFailed().FindSubmatch(line); found != nil {
			log.Failed++
			ill[string(found[1])] = PodLog{LastFailed: true, FailedAt: stampOf(line), Failure: errorText(line)}
		}
	}
	log.Removed = len(removed)
	if last := cmp.Or(ill["Run"], ill["Stop"]); last.LastFailed {
		log.LastFailed, log.FailedAt, log.Failure = true, last.FailedAt, last.Failure
	}
	return log
}

// errorText returns the error in a line.
func errorText(line []byte) string {
	if found := podWhy().FindSubmatch(line); found != nil {
		return strings.ReplaceAll(string(found[1]), `\"`, `"`)
	}
	_, after, _ := bytes.Cut(line, []byte(" failed"))
	return strings.TrimLeft(string(bytes.TrimSpace(after)), ": ")
}

// stampOf returns the time at the beginning of a line, in seconds with a fraction.
func stampOf(line []byte) time.Time {
	word, _, _ := bytes.Cut(line, []byte(" "))
	seconds, err := strconv.ParseFloat(string(word), 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMicro(int64(seconds * 1e6))
}
