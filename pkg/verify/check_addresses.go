package verify

import (
	"context"
	"fmt"
	"path"
	"strings"
)

// addresses fails where host-local has no address left for another pod. It has no result otherwise.
// host-local keeps the address of a pod whose removal it never saw.
// https://github.com/containernetworking/plugins/issues/1047
func (c *checker) addresses(ctx context.Context) Result {
	if len(c.confs) == 0 {
		return Result{}
	}
	pool, ok := c.confs[len(c.confs)-1].Pool()
	if !ok {
		return Result{}
	}
	files, err := c.view.Files.ReadDir(pool.Dir)
	taken := pool.Exhausted(files)
	if err != nil || len(taken) == 0 {
		return Result{}
	}
	seen := fmt.Sprintf("host-local has no address left for another pod: it gave out all %d (a file for each in %s)",
		len(taken), pool.Dir)
	pods, err := c.view.Runtime.Pods(ctx)
	if err != nil {
		return failed(seen, lookAtRuntime(c.view.Facts.Runtime))
	}
	there := map[string]bool{}
	for _, p := range pods {
		there[p.ID] = true
	}
	leaked := 0
	for _, file := range taken {
		content, err := c.view.Files.ReadFile(path.Join(pool.Dir, file))
		id, _, _ := strings.Cut(string(content), "\n")
		if err == nil && !there[strings.TrimSpace(id)] {
			leaked++
		}
	}
	if leaked == 0 {
		return failed(seen, "the node has more pods than addresses: give it a larger range in podCIDRs, or lower "+
			"kubelet.maxPods")
	}
	return failed(fmt.Sprintf("%s, %d to pods that are gone", seen, leaked),
		"remove the files whose first line is no id of `crictl pods -q --no-trunc`")
}
