only wireguard link:wireguard.cali link wireguard.cali type wireguard
only wireguard link:wg-v6.cali link wg-v6.cali type wireguard
