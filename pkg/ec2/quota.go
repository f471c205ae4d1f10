package ec2

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/statestore/transfer"
)

const quotaAction = "GetServiceQuota"

// routesQuota names the quota "Routes per route table" of the service vpc.
// https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html
const routesQuota = `{"ServiceCode": "vpc", "QuotaCode": "L-93826ACB"}`

// RouteQuota returns the maximum number of routes in one route table of the region. It caches the
// answer or the error for half an hour. It needs servicequotas:GetServiceQuota.
// https://docs.aws.amazon.com/servicequotas/2019-06-24/apireference/API_GetServiceQuota.html
func (c *Client) RouteQuota(ctx context.Context, region string) (int, error) {
	c.mu.Lock()
	known, ok := c.quotas[region]
	c.mu.Unlock()
	if ok && time.Since(known.at) < believed {
		return known.quota, known.err
	}
	quota, err := c.askQuota(ctx, region)
	if err != nil {
		err = fmt.Errorf("ask Service Quotas of %s to %s: %w", region, quotaAction, err)
	}
	if ctx.Err() != nil { // the error is of the caller's context, so do not cache it
		return quota, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.quotas == nil {
		c.quotas = map[string]quotaReading{}
	}
	c.quotas[region] = quotaReading{time.Now(), quota, err}
	return quota, err
}

// quotaReading is an answer or an error with its time.
type quotaReading struct {
	at    time.Time
	quota int
	err   error
}

func (c *Client) askQuota(ctx context.Context, region string) (int, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answer, graph.Transient(fmt.Errorf("no answer within %s", answer)))
	defer cancel()
	at := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_SERVICE_QUOTAS"), "https://servicequotas."+region+"."+domain(region))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader(routesQuota))
	if err != nil {
		return 0, errors.New("AWS_ENDPOINT_URL_SERVICE_QUOTAS is not a valid URL: correct it")
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	r.Header.Set("X-Amz-Target", "ServiceQuotasV20190624."+quotaAction)
	body, status, err := c.send(ctx, region, "servicequotas", r, routesQuota)
	if err != nil {
		return 0, err
	}
	var got struct {
		Quota   struct{ Value float64 }
		Type    string `json:"__type"` // of an error
		Message string
	}
	decoded := json.Unmarshal(body, &got) == nil
	switch said := path.Base(strings.ReplaceAll(got.Type, "#", "/")); {
	case status == http.StatusOK && decoded && got.Quota.Value >= 1:
		return int(got.Quota.Value), nil
	case said == "AccessDeniedException":
		return 0, fmt.Errorf("%s: allow servicequotas:%s to the instance's role (docs/aws.md)", said, quotaAction)
	case transfer.IsTransient(status) || said == "TooManyRequestsException":
		return 0, graph.Transient(fmt.Errorf("status %d %s", status, got.Type))
	default:
		return 0, fmt.Errorf("status %d %s: the answer says no quota", status, got.Type)
	}
}
