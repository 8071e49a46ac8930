import { Anchor, type AnchorProps, Button, type ButtonProps, NavLink, type NavLinkProps } from '@mantine/core'
import { createLink } from '@tanstack/react-router'
import type { AnchorHTMLAttributes } from 'react'

type Link<P> = P & Omit<AnchorHTMLAttributes<HTMLAnchorElement>, keyof P>

/** The library's buttons and links with the router's addresses. */
export const LinkButton = createLink((props: Link<ButtonProps>) => <Button component="a" {...props} />)
export const TextLink = createLink((props: Link<AnchorProps>) => <Anchor {...props} />)
export const MenuLink = createLink((props: Link<NavLinkProps>) => <NavLink component="a" {...props} />)
