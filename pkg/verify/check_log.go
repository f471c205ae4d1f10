package verify

import (
	"context"
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/plural"
)

// podsLogged reads in the log of the runtime (for CRI-O also in kubelet's) whether pods are added
// and removed. A failure before the last change of the conf in force does not count.
func (c *checker) podsLogged(ctx context.Context) Result {
	rt := c.view.Facts.Runtime.Name
	if c.run == nil || rt != "containerd" && rt != "cri-o" {
		return Result{}
	}
	log, err := c.run.Live.PodLog(ctx)
	switch {
	case err != nil:
		return notApplicable(err.Error())
	case log.Made+log.Removed+log.Failed == 0:
		return notApplicable(fmt.Sprintf("the journal has no line of %s about a pod in this boot", rt))
	}
	seen := fmt.Sprintf("by the journal of this boot, %s has added %s and removed %d; %s failed",
		rt, plural.Of(log.Made, "pod"), log.Removed, plural.Of(log.Failed, "attempt"))
	if log.LastFailed && log.FailedAt.After(c.confSince()) {
		return failed(fmt.Sprintf("%s, the last at %s: %s", seen, log.FailedAt.UTC().Format(time.RFC3339),
			log.Failure), "the error ends with the plugin's message; `agent verify --traffic` tries again now")
	}
	return well(seen)
}

// confSince returns when the conf in force last changed, by its ctime: a program that unpacks an
// archive may set any mtime.
func (c *checker) confSince() (at time.Time) {
	for _, conf := range c.confs {
		info, err := c.view.Files.Lstat(conf.File)
		if err != nil {
			continue
		}
		if t := time.Unix(0, info.Ctime); t.After(at) {
			at = t
		}
	}
	return at
}
