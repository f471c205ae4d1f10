package cri

import (
	"context"
	"fmt"
	"time"
)

// DescribeContainer is the name and the image of a container: "container NAME, image IMAGE"; ""
// where the runtime does not know it, or does not tell.
func DescribeContainer(ctx context.Context, socket string, limit time.Duration, id string) (name string) {
	// without the runtime it is the number alone
	_ = askRuntime(ctx, socket, limit, func(ctx context.Context, c criClient) error {
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
	one := func(data []byte, at int) (text string) {
		_ = eachField(data, func(field int, _ uint64, data []byte) error {
			if field == at {
				text = string(data)
			}
			return nil
		})
		return text
	}
	_ = eachField(answer, func(field int, _ uint64, data []byte) error { // what cannot be read names nobody
		if field == 1 && one(data, 1) == want {
			out = fmt.Sprintf("container %s, image %s", one([]byte(one(data, 3)), 1), one([]byte(one(data, 4)), 1))
		}
		return nil
	})
	return out
}
