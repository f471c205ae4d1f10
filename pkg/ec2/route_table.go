package ec2

import (
	"context"
	"fmt"
	"net/url"
)

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
