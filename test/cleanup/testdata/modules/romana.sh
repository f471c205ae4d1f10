only dummy link:romana-lo link romana-lo type dummy
