/**
 * Renders the pages of `docs/` and the changelog: the contents of `docs/dist` by file name, such as
 * `operations.html`, `style.css` and `images/network.png`.
 * @throws Error that names every link that leads nowhere
 */
export function renderDocs(root: string): Map<string, string | Buffer>
