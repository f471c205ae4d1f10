package verify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/netwright/netwright/pkg/model/network"
)

// healthPatience is how long a network's agent may take to say how it is: less than kubelet's probes give it by default would call it dead on a busy node.
const healthPatience = 2 * time.Second

// health asks the network's own agent, at an address of this host.
func (c *checker) health(ctx context.Context, s network.Sign) (string, bool, error) {
	if s.URL == "" {
		return "", true, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, healthPatience, ErrNoAnswer)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
	if err != nil {
		return "", false, fmt.Errorf("ask %s: %w", s.URL, err)
	}
	req.Header.Set("brief", "true") // Cilium's counts clusters and nodes else, which are not this node's
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return fmt.Sprintf("%s: %s", s.URL, inner(err)), false, nil
	}
	defer resp.Body.Close()
	return fmt.Sprintf("%s says %s", s.URL, resp.Status), resp.StatusCode/100 == 2, nil
}

// inner is what a client says without the method and the address, which the caller has said.
func inner(err error) error {
	for errors.Unwrap(err) != nil && !errors.Is(err, ErrNoAnswer) {
		err = errors.Unwrap(err)
	}
	return err
}
