//! Answers that cost a walk over the names of the store.
//!
//! One walk is under way at a time, and whoever asks the same within a second is told the same.

use std::{collections::VecDeque, time::Duration};

use tokio::{
    sync::{Mutex, Semaphore},
    time::Instant,
};

use super::failure::Failure;

/// The time for which an answer is told again, unless something was seen to change.
const FRESH: Duration = Duration::from_secs(1);
/// The largest number of answers that are kept.
const KEPT: usize = 16;
/// The largest number of questions that wait for their turn. More are refused.
const IN_LINE: usize = 32;

/// The latest answers to one kind of question.
pub(crate) struct Recent<T> {
    line: Semaphore,
    kept: Mutex<VecDeque<Kept<T>>>,
}

struct Kept<T> {
    question: String,
    /// The state of the observation in which it was asked.
    revision: u64,
    at: Instant,
    answer: T,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self { line: Semaphore::new(IN_LINE), kept: Mutex::default() }
    }
}

impl<T: Clone> Recent<T> {
    /// Returns the answer to a question: that of a moment ago, or a new one, when it is its turn.
    pub(crate) async fn answer(
        &self,
        question: String,
        revision: u64,
        ask: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let busy = || Failure::busy("many others ask for a walk over the names; try again in a moment");
        let _place = self.line.try_acquire().map_err(|_| busy())?;
        let mut kept = self.kept.lock().await;
        kept.retain(|kept| kept.revision == revision && kept.at.elapsed() < FRESH);
        if let Some(kept) = kept.iter().find(|kept| kept.question == question) {
            return Ok(kept.answer.clone());
        }
        let answer = ask.await?;
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(Kept { question, revision, at: Instant::now(), answer: answer.clone() });
        Ok(answer)
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
        let answers = join_all((0..20).map(|_| ask("a", 1))).await;
        assert!(answers.into_iter().all(|answer| answer.ok() == Some(1)));
        assert_eq!(ask("b", 1).await.ok(), Some(2));
        assert_eq!(ask("a", 2).await.ok(), Some(3));
        assert_eq!(ask("a", 2).await.ok(), Some(3));
        advance(FRESH).await;
        assert_eq!(ask("a", 2).await.ok(), Some(4));
        let refused = join_all((0..IN_LINE + 5).map(|_| ask("c", 2))).await;
        assert_eq!(refused.iter().filter(|answer| answer.is_err()).count(), 5);
    }
}
