import { relative } from 'node:path'

/** Where groups of one controller can be made: at the top of its hierarchy, or below the group that we are in. */
export interface Place {
  readonly top: string
  readonly own: string
}

export interface Hierarchies {
  /** By the controllers of cgroup v1, some of which may share a place. */
  readonly v1: ReadonlyMap<string, Place>
  readonly v2: Place | undefined
}

/** From /proc/self/mountinfo and /proc/self/cgroup. */
export function findHierarchies(mountinfo: string, ownGroups: string): Hierarchies {
  const own = readOwnGroups(ownGroups)
  const v1 = new Map<string, Place>()
  let v2: Place | undefined
  for (const line of mountinfo.split('\n')) {
    const [before = '', after = ''] = line.split(' - ')
    const [, , , root = '/', folder = ''] = before.split(' ').map(unescape)
    const [type, , options = ''] = after.split(' ')
    const place = (group = '/') => ({ top: folder, own: ownFolder({ folder, root, group }) })
    if (type === 'cgroup2') v2 ??= place(own.get(''))
    if (type !== 'cgroup') continue
    for (const option of options.split(',')) {
      const group = own.get(option) // undefined: an option that is no controller
      if (group !== undefined && !v1.has(option)) v1.set(option, place(group))
    }
  }
  return { v1, v2 }
}

/** The group that we are in, by controller; that of cgroup v2 by ''. */
function readOwnGroups(text: string): Map<string, string> {
  const groups = new Map<string, string>()
  for (const line of text.split('\n').filter(Boolean)) {
    const [, controllers = '', ...path] = line.split(':')
    for (const controller of controllers.split(',')) groups.set(controller, path.join(':'))
  }
  return groups
}

/** `root`: the group that is mounted; in a container not the top one, and then ours may not be below it. */
function ownFolder({ folder, root, group }: { folder: string; root: string; group: string }): string {
  const below = relative(root, group)
  return below === '' || below.startsWith('..') ? folder : `${folder}/${below}`
}

function unescape(field: string): string {
  return field.replace(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
}
