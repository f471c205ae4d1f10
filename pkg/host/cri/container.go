package cri

import (
	"context"
	"fmt"
	"time"
)

// DescribeContainer describes a container: "container NAME, image IMAGE". It is "" if the runtime
// does not know the container or does not answer.
func DescribeContainer(ctx context.Context, socket string, limit time.Duration, id string) (name string) {
	// Without an answer, the caller shows only the container's id.
	_ = askRuntime(ctx, socket, limit, func(ctx context.Context, c *criClient) error {
		answer, err := c.call(ctx, "ListContainers", nil)
		if err == nil {
			name = containerIn(answer, id)
		}
		return err
	})
	return name
}

// containerIn finds a container in a ListContainersResponse: "container NAME, image IMAGE".
func containerIn(answer []byte, want string) (out string) {
	var d decoder // an undecodable answer has no containers
	for _, c := range d.at(answer, 1) {
		if d.text(c, 1) == want {
			out = fmt.Sprintf("container %s, image %s", d.text(c, 3, 1), d.text(c, 4, 1))
		}
	}
	return out
}
