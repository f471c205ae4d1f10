package ec2

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/statestore/transfer"
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

// Routes counts the IPv4 routes in the route table of a subnet: its own table, or else the main
// table of its VPC. It leaves out propagated routes, which have a quota of their own. It needs
// ec2:DescribeRouteTables.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeRouteTables.html
func (c *Client) Routes(ctx context.Context, region, subnet, vpc string) (table string, count int, err error) {
	own := url.Values{"Filter.1.Name": {"association.subnet-id"}, "Filter.1.Value.1": {subnet}}
	main := url.Values{"Filter.1.Name": {"vpc-id"}, "Filter.1.Value.1": {vpc}, "Filter.2.Name": {"association.main"},
		"Filter.2.Value.1": {"true"}}
	for _, form := range []url.Values{own, main} {
		if table, count, err = c.table(ctx, region, form); err != nil || table != "" {
			return table, count, err
		}
	}
	return "", 0, fmt.Errorf("ask EC2 of %s to DescribeRouteTables: no table is that of subnet %s or the main one of "+
		"%s", region, subnet, vpc)
}

func (c *Client) table(ctx context.Context, region string, form url.Values) (table string, count int, err error) {
	const action = "DescribeRouteTables"
	var got struct {
		Tables []struct {
			ID     string `xml:"routeTableId"`
			Routes []struct {
				To     string `xml:"destinationCidrBlock"`
				Origin string `xml:"origin"`
			} `xml:"routeSet>item"`
		} `xml:"routeTableSet>item"`
	}
	body, err := c.look(ctx, region, action, form)
	if err != nil {
		return "", 0, err
	}
	if err := decode(action, body, &got); err != nil || len(got.Tables) == 0 {
		return "", 0, err
	}
	for _, r := range got.Tables[0].Routes {
		if r.To != "" && r.Origin != "EnableVgwRoutePropagation" {
			count++
		}
	}
	return got.Tables[0].ID, count, nil
}

func decode(action string, body []byte, to any) error {
	if err := xml.Unmarshal(body, to); err != nil {
		return fmt.Errorf("read EC2's answer to %s: %w", action, err)
	}
	return nil
}

// refused returns the error of a response with an error.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
func refused(action string, status int, body []byte) error {
	var got struct {
		Code    string `xml:"Errors>Error>Code"`
		Message string `xml:"Errors>Error>Message"`
	}
	if xml.Unmarshal(body, &got) != nil || got.Code == "" {
		got.Code = fmt.Sprintf("status %d", status)
	}
	message, _, _ := strings.Cut(got.Message, " Encoded authorization failure message") // a page of base64
	err := errors.New(strings.TrimSuffix(got.Code+": "+strings.TrimSpace(message), ": "))
	switch got.Code {
	case "UnauthorizedOperation":
		return fmt.Errorf("%w: allow ec2:%s to the instance's role (docs/aws.md)", err, action)
	case "AuthFailure", "InvalidClientTokenId", "SignatureDoesNotMatch":
		return fmt.Errorf("%w: look at the credentials of the agent's unit, and at this machine's clock", err)
	case "RequestExpired": // the clock may be wrong early at boot
		return graph.Transient(fmt.Errorf("%w: look at this machine's clock", err))
	case "RequestLimitExceeded", "Throttling", "ThrottlingException":
		return graph.Transient(err)
	}
	if transfer.Passing(status) {
		return graph.Transient(err)
	}
	return err
}
