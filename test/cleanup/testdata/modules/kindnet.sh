only xfrm link:knet-xfrm0 link knet-xfrm0 type xfrm if_id 1001
only esp "xfrm:state 10.77.0.11/32 10.77.0.12/32 spi 0x201 if_id 1001" left "xfrm:state 10.77.0.11/32 10.77.0.12/32 spi 0x201 if_id 1001" \
	ip xfrm state add src 10.77.0.11 dst 10.77.0.12 proto esp spi 0x201 mode tunnel if_id 1001 enc "cbc(aes)" 0x01020304050607080910111213141516
