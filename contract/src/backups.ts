import Type from 'typebox'
import { endpoint } from './endpoint.ts'
import { Deleted, List, Nullable, OneOf, Time } from './schema.ts'

const failure = Nullable(
  Type.Object({ code: Type.String({ description: 'Stable, in snake_case.' }), message: Type.String() }),
)

export const Backup = Type.Object({
  id: Type.String(),
  botId: Type.String(),
  status: OneOf(['running', 'completed', 'failed'], { description: '`running`: waits its turn, or is being made.' }),
  sizeBytes: Nullable(Type.Integer({ description: 'Of the archive.' })),
  checksum: Nullable(Type.String({ description: 'SHA-256 of the archive, in hexadecimal.' })),
  locked: Type.Boolean({ description: 'It can be neither deleted nor pruned.' }),
  scheduled: Type.Boolean({ description: 'A daily one, of which so many are kept as `backups.keep` of the bot says.' }),
  error: failure,
  lastRestore: Nullable(
    Type.Object({
      id: Type.String(),
      status: OneOf(['running', 'completed', 'failed']),
      error: failure,
      createdAt: Time('When it was asked for.'),
      finishedAt: Nullable(Time('When it ended.')),
    }),
  ),
  createdAt: Time('When it was asked for.'),
  completedAt: Nullable(Time('When it was complete.')),
})

const params = Type.Object({ id: Type.String() })
const backupParams = Type.Object({ id: Type.String(), backupId: Type.String() })
const tag = 'Backups'
const Archive = Type.String({ description: 'Never as JSON: the bytes of a `.tar.zst`.' })

export const backups = {
  createBackup: endpoint({
    api: 'hosting',
    method: 'POST',
    path: '/bots/{id}/backups',
    access: 'caller',
    tag,
    summary: 'Back up a bot',
    description:
      'Its files, its project and its variables, which stay encrypted; taken while it runs. At most 10 a bot; failed ones do not count.',
    params,
    creates: 'record',
    answers: { 202: Backup },
    errors: ['limit_reached'],
  }),
  listBackups: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/bots/{id}/backups',
    access: 'caller',
    tag,
    summary: 'The backups of a bot, newest first',
    params,
    answers: { 200: List(Backup) },
  }),
  getBackup: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/bots/{id}/backups/{backupId}',
    access: 'caller',
    tag,
    summary: 'One backup',
    params: backupParams,
    answers: { 200: Backup },
  }),
  deleteBackup: endpoint({
    api: 'hosting',
    method: 'DELETE',
    path: '/bots/{id}/backups/{backupId}',
    access: 'caller',
    tag,
    summary: 'Delete a backup',
    description: 'One that is under way is given up. Not one that is locked, or is being restored.',
    params: backupParams,
    answers: { 200: Deleted },
    errors: ['invalid_state'],
  }),
  lockBackup: endpoint({
    api: 'hosting',
    method: 'POST',
    path: '/bots/{id}/backups/{backupId}/lock',
    access: 'caller',
    tag,
    summary: 'Keep a backup from being deleted and pruned',
    params: backupParams,
    answers: { 200: Backup },
  }),
  unlockBackup: endpoint({
    api: 'hosting',
    method: 'DELETE',
    path: '/bots/{id}/backups/{backupId}/lock',
    access: 'caller',
    tag,
    summary: 'Let a backup be deleted and pruned again',
    params: backupParams,
    answers: { 200: Backup },
  }),
  restoreBackup: endpoint({
    api: 'hosting',
    method: 'POST',
    path: '/bots/{id}/backups/{backupId}/restore',
    access: 'caller',
    tag,
    summary: 'Bring a bot back to what it was',
    description:
      'The checksum is verified first. The files take the place of the present ones in one step; if the bot ran it is started with them, and if it does not stay up everything is as it was before. `lastRestore` tells how it went.',
    params: backupParams,
    answers: { 202: Backup },
    errors: ['invalid_state'],
  }),
  downloadBackup: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/bots/{id}/backups/{backupId}/download',
    access: 'caller',
    tag,
    summary: 'The archive of a backup',
    description: 'A `.tar.zst`, as `tar --zstd -x` unpacks it. Takes `Range`.',
    params: backupParams,
    rawAnswer: true,
    answers: { 200: Archive, 206: Archive },
    errors: ['invalid_state', 'range_not_satisfiable'],
  }),
  linkBackup: endpoint({
    api: 'hosting',
    method: 'POST',
    path: '/bots/{id}/backups/{backupId}/link',
    access: 'caller',
    tag,
    summary: 'A link to the archive that works for 15 minutes without a credential',
    params: backupParams,
    answers: { 200: Type.Object({ url: Type.String(), expiresAt: Time('Until when it works.') }) },
    errors: ['invalid_state'],
  }),
  downloadByLink: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/backups/{backupId}/download',
    access: 'open',
    tag,
    summary: 'What a link to an archive leads to',
    params: Type.Object({ backupId: Type.String() }),
    query: Type.Object({ expires: Type.Optional(Type.String()), signature: Type.Optional(Type.String()) }),
    rawAnswer: true,
    answers: { 200: Archive, 206: Archive },
    errors: ['unauthenticated', 'invalid_state', 'range_not_satisfiable'],
  }),
}
