import Type from 'typebox'
import { endpoint } from './endpoint.ts'
import { List, OneOf, Time } from './schema.ts'

const FileEntry = Type.Object({
  name: Type.String(),
  type: OneOf(['file', 'folder', 'other'], {
    description: '`other`: links, sockets and the like; they are not followed.',
  }),
  sizeBytes: Type.Integer({ description: '0 for whatever is no file.' }),
  modifiedAt: Time('When its content last changed.'),
})

const params = Type.Object({ id: Type.String() })
const fileParams = Type.Object({
  id: Type.String(),
  path: Type.String({
    description: 'From the top of the project, such as `src/bot.js`. Its slashes may be sent as they are or as `%2F`.',
  }),
})
const tag = 'Files'

export const files = {
  uploadSource: endpoint({
    api: 'hosting',
    method: 'PUT',
    path: '/bots/{id}/source',
    access: 'caller',
    tag,
    summary: 'Replace the project’s files by those of an archive',
    description:
      'A `.tar.gz`, `.tar` or `.zip`; a single folder around everything is taken off. Left out are `node_modules`, `.git` and what `ignore` in `botberth.json` names. Deploys nothing. Bots of the type `git` take their files from their repository alone.',
    params,
    rawBody: {
      bytesMax: 100 * 1024 * 1024,
      types: [
        'application/gzip',
        'application/x-gzip',
        'application/zip',
        'application/x-tar',
        'application/octet-stream',
      ],
    },
    answers: {
      200: Type.Object({
        id: Type.String({ description: 'Of the bot.' }),
        files: Type.Integer({ description: 'How many the project has now.' }),
        sizeBytes: Type.Integer(),
      }),
    },
    errors: ['archive_invalid', 'invalid_state'],
  }),
  listFiles: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/bots/{id}/files',
    access: 'caller',
    tag,
    summary: 'What the bot’s folder holds',
    description:
      'The folder that the bot works in; before its first deployment the project’s files. A folder with more than 10,000 entries is not listed.',
    params,
    answers: { 200: List(FileEntry) },
    errors: ['invalid_state'],
  }),
  readFile: endpoint({
    api: 'hosting',
    method: 'GET',
    path: '/bots/{id}/files/{path}',
    hasRestParam: true,
    access: 'caller',
    tag,
    summary: 'A file, or what a folder holds',
    description: 'A file is answered with its bytes, a folder as a list.',
    params: fileParams,
    rawAnswer: true,
    answers: { 200: List(FileEntry) },
    errors: ['validation_failed', 'invalid_state'],
  }),
  writeFile: endpoint({
    api: 'hosting',
    method: 'PUT',
    path: '/bots/{id}/files/{path}',
    hasRestParam: true,
    access: 'caller',
    tag,
    summary: 'Write a file, with the folders that lead to it',
    description:
      'In the folder that the bot works in, for its next start, and in the project, for its next deployment. Bots of the type `git` have no project of their own here: the next deployment may replace the file.',
    params: fileParams,
    rawBody: { bytesMax: 10 * 1024 * 1024 },
    answers: { 200: Type.Object({ path: Type.String(), sizeBytes: Type.Integer() }) },
    errors: ['validation_failed', 'invalid_state', 'limit_reached'],
  }),
  deleteFile: endpoint({
    api: 'hosting',
    method: 'DELETE',
    path: '/bots/{id}/files/{path}',
    hasRestParam: true,
    access: 'caller',
    tag,
    summary: 'Remove a file, or a folder with all that is in it',
    params: fileParams,
    answers: {
      200: Type.Object({
        id: Type.String({ description: 'Of the bot.' }),
        path: Type.String(),
        deleted: Type.Literal(true),
      }),
    },
    errors: ['validation_failed', 'invalid_state'],
  }),
}
