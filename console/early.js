// Runs before the first paint and delays it, so it is short. A separate file, because the content security policy allows no inline script.
;(function () {
  // Sets the theme from the cookie or the system.
  var chosen = /(?:^|; )theme=(dark|light)/.exec(document.cookie)
  var light = chosen ? chosen[1] === 'light' : matchMedia('(prefers-color-scheme: light)').matches
  document.documentElement.dataset.theme = light ? 'light' : 'dark'

  // Fetches the page's files and, if a session is stored, the responses to its first calls, while the page's scripts are still loading. `build/early.ts`
  // writes the lists, `src/lib/early.ts` gives the responses to the page. The page repeats requests that fail here.
  var lists = document.currentScript.dataset.first
  if (!lists) return
  var read = function (key) {
    return JSON.parse(localStorage.getItem(key))
  }
  try {
    var first = JSON.parse(lists)
    var user = read('steelyard.user')
    var session = user && read('steelyard.user-tokens.' + user.id).at(-1)
    var page = first.pages[location.pathname] || { files: [], calls: [] }
    ;(session ? first.signedIn.concat(page.files) : first.visitors).forEach(function (file) {
      var link = document.createElement('link')
      link.href = file
      link.rel = file.endsWith('.js') ? 'modulepreload' : 'preload'
      if (link.rel === 'preload') link.as = 'style'
      link.crossOrigin = ''
      document.head.append(link)
    })
    var token = session && read(session.accessToken)
    if (!token || token.expiresAt < Date.now() + 3000) return
    var responses = {}
    first.calls.concat(location.search ? [] : page.calls).forEach(function (call) {
      responses[call] = fetch(call, {
        headers: { 'content-type': 'application/json', authorization: 'Bearer ' + token.value },
        credentials: 'omit',
        cache: 'no-store',
      })
      responses[call].catch(function () {})
    })
    window.steelyardEarly = { token: token.value, responses: responses }
  } catch {
    // The storage can't be read. The page itself then decides whether there is a session.
  }
})()
