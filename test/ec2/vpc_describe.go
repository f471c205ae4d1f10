package ec2

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

func (v *VPC) describe(e *Interface) string {
	var out strings.Builder
	status := "available"
	if e.Instance != "" {
		status = "in-use"
	}
	fmt.Fprintf(&out, "<networkInterfaceId>%s</networkInterfaceId><subnetId>%s</subnetId><vpcId>%s</vpcId><availabilityZone>%s</availabilityZone>"+
		"<macAddress>%s</macAddress><status>%s</status><interfaceType>interface</interfaceType><sourceDestCheck>true</sourceDestCheck>"+
		"<privateIpAddress>%s</privateIpAddress><groupSet>", e.ID, v.Subnet, v.ID, v.Zone, e.MAC, status, e.Addresses[0])
	for _, g := range e.Groups {
		fmt.Fprintf(&out, "<item><groupId>%s</groupId></item>", g)
	}
	out.WriteString("</groupSet>")
	if e.Instance != "" {
		fmt.Fprintf(&out, "<attachment><attachmentId>%s</attachmentId><instanceId>%s</instanceId><deviceIndex>%d</deviceIndex><networkCardIndex>0</networkCardIndex>"+
			"<status>attached</status><deleteOnTermination>true</deleteOnTermination></attachment>", e.attachment(), e.Instance, e.Device)
	}
	out.WriteString("<privateIpAddressesSet>")
	for i, a := range e.Addresses {
		fmt.Fprintf(&out, "<item><privateIpAddress>%s</privateIpAddress><primary>%t</primary></item>", a, i == 0)
	}
	out.WriteString("</privateIpAddressesSet>" + tagSet(e.Tags))
	return out.String()
}

func tagSet(tags map[string]string) string {
	var out strings.Builder
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		fmt.Fprintf(&out, "<item><key>%s</key><value>%s</value></item>", key, tags[key])
	}
	return "<tagSet>" + out.String() + "</tagSet>"
}

// describeInterfaces: without names those that no instance has, which is what is asked for by
// filters.
func (v *VPC) describeInterfaces(form url.Values) (string, *problem) {
	var items strings.Builder
	for _, id := range list(form, "NetworkInterfaceId.%d") {
		e, p := v.find(id)
		if p != nil {
			return "", p
		}
		items.WriteString("<item>" + v.describe(e) + "</item>")
	}
	if !form.Has("NetworkInterfaceId.1") {
		for _, e := range v.interfaces {
			if e.Instance == "" {
				items.WriteString("<item>" + v.describe(e) + "</item>")
			}
		}
	}
	return "<networkInterfaceSet>" + items.String() + "</networkInterfaceSet>", nil
}

func (v *VPC) describeInstances(form url.Values) (string, *problem) {
	i, p := v.instance(form.Get("InstanceId.1"))
	if p != nil {
		return "", p
	}
	var items strings.Builder
	for _, e := range v.interfaces {
		if e.Instance == i.ID {
			items.WriteString("<item>" + v.describe(e) + "</item>")
		}
	}
	return fmt.Sprintf("<reservationSet><item><reservationId>r-1</reservationId><instancesSet><item><instanceId>%s</instanceId><instanceType>%s</instanceType>"+
		"<networkInterfaceSet>%s</networkInterfaceSet></item></instancesSet></item></reservationSet>", i.ID, i.Type, items.String()), nil
}

func (v *VPC) describeTypes(form url.Values) (string, *problem) {
	for _, i := range v.instances {
		if i.Type == form.Get("InstanceType.1") {
			return fmt.Sprintf("<instanceTypeSet><item><instanceType>%s</instanceType><hypervisor>nitro</hypervisor><bareMetal>false</bareMetal><networkInfo>"+
				"<maximumNetworkInterfaces>%d</maximumNetworkInterfaces><maximumNetworkCards>1</maximumNetworkCards><defaultNetworkCardIndex>0</defaultNetworkCardIndex>"+
				"<networkCards><item><networkCardIndex>0</networkCardIndex><maximumNetworkInterfaces>%[2]d</maximumNetworkInterfaces></item></networkCards>"+
				"<ipv4AddressesPerInterface>%d</ipv4AddressesPerInterface><ipv6AddressesPerInterface>%[3]d</ipv6AddressesPerInterface></networkInfo></item></instanceTypeSet>",
				i.Type, i.Interfaces, i.Addresses), nil
		}
	}
	return "", &problem{"InvalidInstanceType", "The following supplied instance types do not exist"}
}

func (v *VPC) describeSubnets(url.Values) (string, *problem) {
	return fmt.Sprintf("<subnetSet><item><subnetId>%s</subnetId><vpcId>%s</vpcId><cidrBlock>%s</cidrBlock><availabilityZone>%s</availabilityZone>"+
		"<availableIpAddressCount>100</availableIpAddressCount><defaultForAz>false</defaultForAz><state>available</state>%s</item></subnetSet>",
		v.Subnet, v.ID, v.SubnetCIDR, v.Zone, tagSet(v.SubnetTags)), nil
}

func (v *VPC) describeVPCs(url.Values) (string, *problem) {
	var items strings.Builder
	for _, r := range v.Ranges {
		fmt.Fprintf(&items, "<item><cidrBlock>%s</cidrBlock><cidrBlockState><state>associated</state></cidrBlockState></item>", r)
	}
	return fmt.Sprintf("<vpcSet><item><vpcId>%s</vpcId><cidrBlock>%s</cidrBlock><cidrBlockAssociationSet>%s</cidrBlockAssociationSet></item></vpcSet>",
		v.ID, v.Ranges[0], items.String()), nil
}
