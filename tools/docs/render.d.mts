/**
 * Renders the pages of `docs/` and the changelog: the contents of `docs/dist` by file name, such as
 * `operations.html`, `style.css` and `images/network.png`.
 * @param made pages that are no files, by their source, such as `docs/cli-reference.md`
 * @throws Error that names every link that leads nowhere
 */
export function renderDocs(
  root: string,
  made?: ReadonlyMap<string, string>,
): Map<string, string | Buffer>
