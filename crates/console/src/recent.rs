//! Answers that cost a walk over the names of the store.
//!
//! One walk is under way at a time, and whoever asks the same meanwhile, or within a second, is told the same.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::failure::Failure;

/// The time for which an answer is told again, unless something was seen to change.
const FRESH: Duration = Duration::from_secs(1);
/// The largest number of different questions that wait for their turn. More are refused.
const IN_LINE: usize = 32;
/// The largest number of answers that are kept: of whatever is asked for by somebody in the line.
const KEPT: usize = IN_LINE;

/// The latest answers to one kind of question.
pub(crate) struct Recent<T> {
    line: Line,
    kept: tokio::sync::Mutex<VecDeque<Kept<T>>>,
}

/// The questions that wait for their turn, each with the number of those who ask it.
#[derive(Default)]
struct Line(Mutex<BTreeMap<String, usize>>);

/// A place in the line. It is left when this is dropped.
struct Place<'a> {
    line: &'a Line,
    question: String,
}

struct Kept<T> {
    question: String,
    /// The state of the observation in which it was asked.
    revision: u64,
    at: Instant,
    answer: Result<T, Failure>,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self { line: Line::default(), kept: tokio::sync::Mutex::default() }
    }
}

impl<T: Clone> Recent<T> {
    /// Returns the answer to a question: that of others who ask the same, that of a moment ago, or a new one, when it is its
    /// turn.
    pub(crate) async fn answer(
        &self,
        question: String,
        revision: u64,
        ask: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let arrived = Instant::now();
        let place = self.line.enter(question)?;
        let mut kept = self.kept.lock().await;
        kept.retain(|kept| kept.is_fresh() || self.line.has(&kept.question));
        // A failure is shared by those who waited for it, and by nobody who comes later.
        let is_for_this = |kept: &&Kept<T>| {
            kept.question == place.question
                && kept.revision >= revision
                && (kept.at > arrived || kept.is_fresh() && kept.answer.is_ok())
        };
        if let Some(kept) = kept.iter().rev().find(is_for_this) {
            return kept.answer.clone();
        }
        let answer = ask.await;
        if kept.len() == KEPT {
            kept.pop_front();
        }
        let question = place.question.clone();
        kept.push_back(Kept { question, revision, at: Instant::now(), answer: answer.clone() });
        answer
    }
}

impl<T> Kept<T> {
    fn is_fresh(&self) -> bool {
        self.at.elapsed() < FRESH
    }
}

impl Line {
    /// Enters the line. Whoever asks what is asked already makes it no longer.
    fn enter(&self, question: String) -> Result<Place<'_>, Failure> {
        let mut questions = self.questions();
        if !questions.contains_key(&question) && questions.len() >= IN_LINE {
            return Err(Failure::busy("many others ask for a walk over the names; try again in a moment"));
        }
        *questions.entry(question.clone()).or_default() += 1;
        Ok(Place { line: self, question })
    }

    fn has(&self, question: &str) -> bool {
        self.questions().contains_key(question)
    }

    fn questions(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        // Nothing panics while it is locked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut questions = self.line.questions();
        if let Some(count) = questions.get_mut(&self.question) {
            *count -= 1;
            if *count == 0 {
                questions.remove(&self.question);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures_util::future::join_all;
    use tokio::time::{advance, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_answer_is_for_all_who_ask_within_a_second_until_something_changes() {
        let (recent, asked) = (Recent::default(), Cell::new(0));
        let ask = async |question: &str, revision| {
            let answer = async {
                asked.set(asked.get() + 1);
                sleep(Duration::from_millis(100)).await;
                Ok(asked.get())
            };
            recent.answer(question.to_owned(), revision, answer).await
        };
        let answers = join_all((0..3 * IN_LINE).map(|_| ask("a", 1))).await;
        assert!(answers.into_iter().all(|answer| answer.ok() == Some(1)));
        assert_eq!(ask("b", 1).await.ok(), Some(2));
        assert_eq!(ask("a", 2).await.ok(), Some(3));
        assert_eq!(ask("a", 2).await.ok(), Some(3));
        advance(FRESH).await;
        assert_eq!(ask("a", 2).await.ok(), Some(4));
    }

    #[tokio::test(start_paused = true)]
    async fn only_different_questions_make_the_line_long() {
        let recent = Recent::default();
        let ask = async |question: usize| {
            let answer = async {
                sleep(2 * FRESH).await;
                Ok(question)
            };
            recent.answer(question.to_string(), 1, answer).await.ok()
        };
        let began = Instant::now();
        // Twice the same few, one behind the other: the second time nobody has to walk.
        let few = join_all((0..8).chain(0..8).map(&ask)).await;
        assert_eq!(few, (0..8).chain(0..8).map(Some).collect::<Vec<_>>());
        assert!((16 * FRESH..17 * FRESH).contains(&began.elapsed()), "{:?}", began.elapsed());
        let many = join_all((0..IN_LINE + 5).map(&ask)).await;
        assert_eq!(many.iter().filter(|answer| answer.is_none()).count(), 5);
        assert_eq!(ask(IN_LINE + 4).await, Some(IN_LINE + 4));
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_for_those_who_waited_for_it_and_for_nobody_later() {
        let (recent, asked) = (Recent::<()>::default(), Cell::new(0));
        let ask = async || {
            let answer = async {
                asked.set(asked.get() + 1);
                sleep(Duration::from_millis(500)).await;
                Err(Failure::gone())
            };
            recent.answer("a".to_owned(), 1, answer).await
        };
        assert!(join_all((0..100).map(|_| ask())).await.iter().all(Result::is_err));
        assert_eq!(asked.get(), 1);
        assert!(ask().await.is_err());
        assert_eq!(asked.get(), 2);
    }
}
