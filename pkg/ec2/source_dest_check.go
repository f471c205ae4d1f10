package ec2

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/netwright/netwright/pkg/graph"
)

// SourceDestCheck reports whether EC2 drops packets of an interface whose source and destination
// are not its own addresses. It needs ec2:DescribeNetworkInterfaces.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeNetworkInterfaces.html
func (c *Client) SourceDestCheck(ctx context.Context, region, eni string) (bool, error) {
	const action = "DescribeNetworkInterfaces"
	var got struct {
		Items []struct {
			ID    string `xml:"networkInterfaceId"`
			Check *bool  `xml:"sourceDestCheck"`
		} `xml:"networkInterfaceSet>item"`
	}
	body, err := c.look(ctx, region, action, url.Values{"NetworkInterfaceId.1": {eni}})
	if err != nil {
		return false, err
	}
	if err := decode(action, body, &got); err != nil {
		return false, err
	}
	if len(got.Items) != 1 || got.Items[0].ID != eni || got.Items[0].Check == nil {
		return false, fmt.Errorf("ask EC2 of %s to %s: the answer does not say whether the check of %s is on", region,
			action, eni)
	}
	return *got.Items[0].Check, nil
}

// StopSourceDestCheck turns the check of an interface off, and waits until EC2 reports that it is
// off. An answer of EC2 may be older than the last request
// (https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html). It may be called
// again. It also needs ec2:ModifyNetworkInterfaceAttribute. It does not use the action for
// instances, which EC2 refuses for an instance with several interfaces.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_ModifyNetworkInterfaceAttribute.html
func (c *Client) StopSourceDestCheck(ctx context.Context, region, eni string) error {
	if _, err := c.call(ctx, region, "ModifyNetworkInterfaceAttribute",
		url.Values{"NetworkInterfaceId": {eni}, "SourceDestCheck.Value": {"false"}}); err != nil {
		return err
	}
	for pause := propagation / 128; ; pause *= 2 {
		c.forget()
		on, err := c.SourceDestCheck(ctx, region, eni)
		switch {
		case err != nil || !on:
			return err
		case pause > propagation:
			return graph.Transient(fmt.Errorf("EC2 was told to stop the check of %s, and says that it is on", eni))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// propagation is half of the time that EC2 may need until its answers show a change.
const propagation = 10 * time.Second
