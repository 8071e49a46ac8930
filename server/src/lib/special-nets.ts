/*
 * Addresses that are no host of the public internet, from IANA's registries of special-purpose addresses, and those of
 * clouds' own services. Neither bots nor requests that we make for strangers reach them.
 */

export const specialNets4: readonly string[] = [
  '0.0.0.0/8', // this network; many systems take it for loopback
  '10.0.0.0/8',
  '100.64.0.0/10', // shared by customers of a provider; a cloud's metadata at 100.100.100.200
  '127.0.0.0/8',
  '168.63.129.16/32', // Azure's host, although the address looks public
  '169.254.0.0/16', // link-local; the metadata of most clouds
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16',
  '198.18.0.0/15', // benchmarking
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and broadcast
]

export const specialNets6: readonly string[] = [
  '2001::/23', // protocols: Teredo, benchmarking, ORCHID
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '3ffe::/16', // given back
  '3fff::/20', // documentation
]
