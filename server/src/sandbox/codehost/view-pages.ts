import { type Html, html } from '../../http/html.ts'
import type { Delivery } from './deliveries.ts'
import { base } from './host.ts'
import type { Installation } from './installations.ts'
import { fullName, type Repository } from './repositories.ts'
import type { Status } from './wire-commits.ts'

export const notice = html`<p class="notice">This is a sandbox, not the real code host. It exists on this machine only.</p>`

const forms = `${base}/forms`

/** A button that is a form of its own: without scripts there is no other way to do something. */
function action(path: string, label: string, fields: Record<string, string> = {}): Html {
  const hidden = Object.entries(fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )
  return html`<form method="post" action="${forms}${path}">${hidden}<button>${label}</button></form>`
}

function checkbox(name: string, label: string, isChecked = false): Html {
  const input = html`<input type="checkbox" name="${name}" value="yes" style="width:auto"${isChecked && html` checked`}>`
  return html`<label>${input} ${label}</label>`
}

const newRepository = html`<h2>New repository</h2>
<form method="post" action="${forms}/repos">
<label for="full-name">Owner and name</label>
<input id="full-name" name="fullName" required placeholder="ann/my-bot" pattern="[A-Za-z0-9\\-]+/[A-Za-z0-9._\\-]+" autocomplete="off">
<p class="soft">Any owner will do. The owner may push, under that name.</p>
${checkbox('private', 'Private')}
${checkbox('starter', 'With a small bot in it', true)}
<button>Create</button>
</form>`

function installForm(account = ''): Html {
  return html`<h2>Install the app</h2>
<form method="post" action="${forms}/installations">
<label for="account">Account</label>
<input id="account" name="account" value="${account}" required maxlength="39" autocomplete="off">
<label for="repositories">Repositories</label>
<textarea id="repositories" name="repositories" rows="3"></textarea>
<p class="soft">One OWNER/NAME a line; left empty: all of the account, those to come too.</p>
<button>Install</button>
</form>`
}

interface Overview {
  readonly repositories: readonly Repository[]
  readonly installations: readonly Installation[]
  readonly gitUrl: string
}

export function overviewPage({ repositories, installations, gitUrl }: Overview): Html {
  const list = repositories.map(
    (repository) => html`<li><a href="${base}/${fullName(repository)}">${fullName(repository)}</a>
${repository.is_private && html`<span class="soft">private</span>`} <code>${gitUrl}/${fullName(repository)}.git</code></li>`,
  )
  return html`<h1>The code host</h1>
${notice}
<h2>Repositories</h2>
${list.length > 0 ? html`<ul>${list}</ul>` : html`<p>There are none yet.</p>`}
${newRepository}
<h2>Installations of the app</h2>
${installations.length > 0 ? html`<ul>${installations.map(installationItem)}</ul>` : html`<p>It is installed nowhere yet.</p>`}
${installForm()}
<p><a href="${base}/events">Recent events</a> · <a href="/">Botberth</a></p>`
}

function installationItem(installation: Installation): Html {
  const { id, account } = installation
  return html`<li><a href="${base}/installations/${id}">${account}</a> ${installation.holds_all ? 'all repositories' : 'selected repositories'}
${installation.suspended_at !== null && html`<span class="soft">suspended</span>`}</li>`
}

export function installPage(): Html {
  return html`<h1>Install Botberth</h1>
${notice}
${installForm()}
<p><a href="${base}">All repositories</a></p>`
}

export function installationPage(installation: Installation, held: readonly Repository[]): Html {
  const { id, account } = installation
  const isSuspended = installation.suspended_at !== null
  const names = installation.holds_all ? '' : held.map(fullName).join('\n')
  return html`<h1>The app on ${account}</h1>
${notice}
<p>Installation <code>${id}</code>, ${installation.holds_all ? 'all repositories' : 'selected repositories'}${isSuspended && ', suspended'}.</p>
<ul>${held.map((repository) => html`<li><a href="${base}/${fullName(repository)}">${fullName(repository)}</a></li>`)}</ul>
<form method="post" action="${forms}/installations/${id}/repositories">
<label for="repositories">Repositories</label>
<textarea id="repositories" name="repositories" rows="5">${names}</textarea>
<p class="soft">One OWNER/NAME a line; left empty: all of the account, those to come too.</p>
<button>Save</button>
</form>
${action(`/installations/${id}/suspended`, isSuspended ? 'Unsuspend' : 'Suspend', { suspended: isSuspended ? 'no' : 'yes' })}
${action(`/installations/${id}/delete`, 'Uninstall')}
<p><a href="${base}">All repositories</a></p>`
}

interface RepositoryView {
  readonly repository: Repository
  readonly statuses: readonly Status[]
  readonly origin: string
}

export function repositoryPage({ repository, statuses, origin }: RepositoryView): Html {
  const { owner, is_private: isPrivate } = repository
  const name = fullName(repository)
  const path = `${base}/${name}.git`
  return html`<h1>${name}</h1>
${notice}
<p>${isPrivate ? 'Private' : 'Public'}, default branch <code>${repository.default_branch}</code>.</p>
<h2>Clone and push</h2>
<pre>git clone http://${owner}:sandbox@${origin.replace('http://', '')}${path}</pre>
<p class="soft">The name in front is who you are: the owner may push. The password can be anything.</p>
<h2>Commit statuses</h2>
${statuses.length > 0 ? html`<ul>${statuses.map(statusItem)}</ul>` : html`<p>There are none yet.</p>`}
<h2>Change a file</h2>
<form method="post" action="${forms}/repos/${name}/commits">
<label for="path">Path</label>
<input id="path" name="path" value="index.js" required maxlength="1024" autocomplete="off">
<label for="text">Text</label>
<textarea id="text" name="text" rows="6"></textarea>
<label for="branch">Branch</label>
<input id="branch" name="branch" value="${repository.default_branch}" required maxlength="255" autocomplete="off">
<label for="message">Commit message</label>
<input id="message" name="message" value="Change a file" maxlength="1000" autocomplete="off">
<button>Commit</button>
</form>
<h2>Settings</h2>
<form method="post" action="${forms}/repos/${name}">
<label for="full-name">Owner and name</label>
<input id="full-name" name="fullName" value="${name}" required autocomplete="off">
${checkbox('private', 'Private', isPrivate)}
<button>Save</button>
</form>
${action(`/repos/${name}/delete`, `Delete ${name}`)}
<p><a href="${base}">All repositories</a></p>`
}

function statusItem({ sha, state, context, description, target_url: url }: Status): Html {
  const text = `${state}: ${description ?? context}`
  return html`<li><code>${sha.slice(0, 7)}</code> ${url === null ? text : html`<a href="${url}">${text}</a>`} <span class="soft">${context}</span></li>`
}

export function eventsPage(deliveries: readonly Delivery[]): Html {
  const items = deliveries.map(
    ({ id, event, action: what, guid, status, attempts, answer_status: answer }) => html`<h2>${event} ${what ?? ''}</h2>
<p><code>${guid}</code> ${status}, ${attempts} attempts${answer !== null && `, last answer ${answer}`}</p>
${action(`/deliveries/${id}/redeliver`, 'Redeliver')}`,
  )
  return html`<h1>Recent events</h1>
${notice}
${items.length > 0 ? items : html`<p>There are none yet.</p>`}
<p><a href="${base}">All repositories</a></p>`
}

export function manifestPage(name: string, { manifest, state }: { manifest: string; state: string }): Html {
  const query = new URLSearchParams({ manifest, state }).toString()
  return html`<h1>Create an app</h1>
${notice}
<p>The app <b>${name}</b> is made from a manifest. Here there is only one app: whoever set this up gets its keys.</p>
<p><a href="${base}/settings/apps/create?${query}">Create ${name}</a></p>`
}
